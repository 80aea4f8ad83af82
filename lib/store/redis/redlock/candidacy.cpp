// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "candidacy.hpp"

#include "claim_outcome.hpp"
#include "claims.hpp"
#include "survey.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;

/// a lock that others held is looked at before it is claimed, for so long
constexpr auto contention_memory = 10s;

} // namespace

Candidacy::Candidacy(
    QuorumPtr quorum, std::shared_ptr<Candidates> candidates, std::weak_ptr<Claims> claims, ClaimRequest request,
    ReplyHandler<ClaimReply> handler)
    : quorum_(std::move(quorum))
    , candidates_(std::move(candidates))
    , claims_(std::move(claims))
    , request_(std::move(request))
    , votes_(0)
    , looks_(0)
{
    handlers_.push_back(std::move(handler));
}

void Candidacy::start()
{
    auto const now = runtime().now();
    if (request_.not_after.over(now)) {
        runtime().post([self = shared_from_this()] { self->finish(Failure::dropped()); });
        return;
    }
    auto const patience = std::clamp<std::chrono::milliseconds>(request_.ttl / 4, 100ms, 1000ms);
    until_ = request_.not_after.no_later_than(now + patience);
    arm(until_.at());
    // a new owner cannot have a lock already: no need to look, unless others contend for it
    if (request_.range->count == 1 && !request_.earliest_attempt &&
        !candidates_->contended(request_.range->key(0), now))
        vote(0);
    else
        look();
}

bool Candidacy::join(ReplyHandler<ClaimReply>& handler)
{
    if (handlers_.empty())
        return false;
    handlers_.push_back(std::move(handler));
    return true;
}

void Candidacy::close()
{
    stop();
    if (phase_ == Phase::pausing)
        runtime().post([self = shared_from_this()] { self->give_up_pause(); });
    else if (phase_ == Phase::completing)
        runtime().post([self = shared_from_this()] { self->hand_out(); });
}

void Candidacy::look()
{
    phase_ = Phase::looking;
    auto const round = ++round_;
    auto const began = runtime().now();
    looks_ = Votes<InspectReply>(quorum_->size());
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        quorum_->nodes()[node]->inspect(
            request_.range, until_, [self = shared_from_this(), node, round, began](InspectReply reply) {
                if (self->round_ == round && self->phase_ == Phase::looking)
                    self->looked(node, std::move(reply), began);
            });
}

void Candidacy::looked(std::size_t node, InspectReply reply, Instant began)
{
    looks_.cast(node, std::move(reply));
    if (looks_.complete())
        choose();
    else if (looks_.count<std::vector<KeyState>>() == quorum_->majority())
        arm(std::min(until_.at(), runtime().now() + (runtime().now() - began) + grace));
}

void Candidacy::choose()
{
    arm(until_.at());
    if (looks_.count<std::vector<KeyState>>() < quorum_->majority()) {
        finish(no_look(*quorum_, *request_.range, looks_));
        return;
    }
    auto const found = survey(*quorum_, looks_, request_.range->count, request_.owner);
    if (found.own && request_.earliest_attempt) {
        vote(*found.own);
    } else if (found.free.empty()) {
        finish(Busy{found.earliest_expiry, found.never_frees});
    } else {
        choose_among(found.free);
    }
}

void Candidacy::choose_among(std::vector<std::uint32_t> const& free)
{
    // the first one; where others were faster before, one of the first few, or all go on to race for the same
    auto left = runtime().random() % (std::uint64_t{1} << tries_);
    std::optional<std::uint32_t> chosen;
    for (auto const index : free) {
        if (candidates_->contains(request_.range->key(index)))
            continue;
        chosen = index;
        if (left-- == 0)
            break;
    }
    if (chosen)
        vote(*chosen);
    else
        pause();
}

void Candidacy::pause()
{
    phase_ = Phase::pausing;
    if (stopped_)
        give_up_pause();
    else
        arm(std::min(until_.at(), runtime().now() + 1ms * (1 + static_cast<int>(runtime().random() % 8))));
}

void Candidacy::give_up_pause()
{
    if (phase_ == Phase::pausing)
        finish(Busy{});
}

void Candidacy::arm(Instant when)
{
    runtime().cancel(timer_);
    timer_ = runtime().call_at(when, [weak = weak_from_this()] {
        if (auto const self = weak.lock()) {
            self->timer_ = 0;
            self->rang();
        }
    });
}

void Candidacy::rang()
{
    switch (phase_) {
    case Phase::looking:
        choose();
        break;
    case Phase::voting:
    case Phase::agreeing:
        disagreed_ = phase_ == Phase::agreeing;
        // what is given back now may be confirmed within as long again
        arm(runtime().now() + 100ms);
        fail();
        break;
    case Phase::completing:
        hand_out();
        break;
    case Phase::giving_back:
        given_back();
        break;
    case Phase::pausing:
        if (until_.over(runtime().now())) {
            finish(Busy{});
        } else {
            arm(until_.at());
            look();
        }
        break;
    case Phase::over:
        break;
    }
}

void Candidacy::finish(ClaimReply const& reply)
{
    phase_ = Phase::over;
    if (std::holds_alternative<Busy>(reply) && request_.range->count == 1)
        candidates_->note_contended(request_.range->key(0), runtime().now() + contention_memory);
    candidates_->remove(candidate_);
    runtime().cancel(std::exchange(timer_, 0));
    if (!succeeded_ || votes_.complete())
        leave();
    for (auto& handler : std::exchange(handlers_, {}))
        std::move(handler)(ClaimReply(reply));
}

void Candidacy::leave()
{
    if (auto const claims = std::exchange(claims_, {}).lock())
        claims->remove(*this);
}

} // namespace tenure::redlock
