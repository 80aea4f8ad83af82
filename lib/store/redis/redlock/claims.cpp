// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claims.hpp"

#include "candidacy.hpp"
#include "split_vote.hpp"

#include <utility>

namespace tenure::redlock
{

Claims::Claims(QuorumPtr quorum)
    : quorum_(std::move(quorum))
    , candidates_(std::make_shared<Candidates>())
{
}

void Claims::claim(ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    auto const found = under_way_.find(request.owner);
    if (found != under_way_.end()) {
        if (found->second->join(handler))
            return;
        found->second->stop();
    }
    auto const candidacy =
        std::make_shared<Candidacy>(quorum_, candidates_, weak_from_this(), std::move(request), std::move(handler));
    under_way_.insert_or_assign(candidacy->owner(), candidacy);
    candidacy->start();
}

void Claims::stop(std::string_view owner)
{
    if (auto const found = under_way_.find(owner); found != under_way_.end())
        found->second->stop();
    if (auto const found = split_votes_.find(owner); found != split_votes_.end()) {
        found->second->stop();
        split_votes_.erase(found);
    }
}

void Claims::close()
{
    auto const claims = std::exchange(under_way_, {});
    for (auto const& [owner, candidacy] : claims)
        candidacy->close();
    auto const split_votes = std::exchange(split_votes_, {});
    for (auto const& [owner, split_vote] : split_votes)
        split_vote->stop();
}

void Claims::add(std::shared_ptr<SplitVote> split_vote)
{
    auto owner = split_vote->owner();
    split_votes_.insert_or_assign(std::move(owner), std::move(split_vote));
}

void Claims::remove(Candidacy const& candidacy)
{
    auto const found = under_way_.find(candidacy.owner());
    if (found != under_way_.end() && found->second.get() == &candidacy)
        under_way_.erase(found);
}

void Claims::remove(SplitVote const& split_vote)
{
    auto const found = split_votes_.find(split_vote.owner());
    if (found != split_votes_.end() && found->second.get() == &split_vote)
        split_votes_.erase(found);
}

} // namespace tenure::redlock
