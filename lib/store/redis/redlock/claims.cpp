// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims and contended keys of this process.
#include "claims.hpp"

#include "majority_claim.hpp"

#include <tenure/errc.hpp>

#include <utility>
#include <variant>

namespace tenure::redlock
{

Claims::Claims(QuorumPtr quorum)
    : quorum_(std::move(quorum))
    , candidates_(std::make_shared<ContendedKeys>())
    , window_(std::make_shared<store::ClaimWindow>(quorum_->shared_runtime(), redis::Pace::first))
{
}

void Claims::claim(std::shared_ptr<Claims> const& self, ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    auto& under_way = self->under_way_;
    if (auto const found = under_way.find(request.owner); found != under_way.end()) {
        // the claim may remove itself
        auto const earlier = found->second;
        if (earlier->join(handler))
            return;
        earlier->stop();
    }
    auto const candidacy =
        std::make_shared<MajorityClaim>(self->quorum_, self->candidates_, self, std::move(request), std::move(handler));
    under_way.insert_or_assign(candidacy->owner(), candidacy);
    self->window_->begin(candidacy->not_after(), [candidacy](auto&& turn) {
        if (auto* const failure = std::get_if<Failure>(&turn))
            candidacy->refuse(std::move(*failure));
        else
            candidacy->start(std::get<store::ClaimWindow::Place>(std::move(turn)));
    });
}

void Claims::decided(Clock::duration took, Clock::duration target, std::size_t place)
{
    pace_.answered({took, target, 1, place}, quorum_->runtime().now());
    window_->resize(pace_.limit());
}

void Claims::stop(std::string_view owner)
{
    if (auto const found = under_way_.find(owner); found != under_way_.end()) {
        // the claim may remove itself
        auto const candidacy = found->second;
        candidacy->stop();
    }
}

void Claims::close()
{
    window_->fail_all(Failure::not_sent(errc::closed, "the store was closed"));
    auto const claims = std::exchange(under_way_, {});
    for (auto const& [owner, candidacy] : claims)
        candidacy->close();
}

void Claims::remove(MajorityClaim const& candidacy)
{
    auto const found = under_way_.find(candidacy.owner());
    if (found != under_way_.end() && found->second.get() == &candidacy)
        under_way_.erase(found);
}

void give_back(
    redis::VoterBackend& node, KeyRangePtr key, std::string owner, Instant not_after,
    ReplyHandler<ReleaseReply> handler)
{
    auto claim = std::make_shared<Claim>();
    claim->range = std::move(key);
    claim->owner = std::move(owner);
    ReleaseRequest request;
    request.claim = std::move(claim);
    request.not_after = not_after;
    node.release(std::move(request), std::move(handler));
}

} // namespace tenure::redlock
