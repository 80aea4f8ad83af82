// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MajorityClaim: reads, votes, tokens, and the grants to give back.
#include "majority_claim.hpp"

#include "claim_outcome.hpp"

#include <store/redis/key_names.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;
using redis::TokenReply;

/// how long after contention a lock is read before it is claimed
constexpr auto contention_memory = 10s;
/// how often a pool is searched again because other claims were faster
constexpr unsigned most_tries = 4;
/// longest wait of a grant for nodes that losers give back
constexpr auto longest_completion = 50ms;

} // namespace

MajorityClaim::MajorityClaim(
    QuorumPtr quorum, std::shared_ptr<ContendedKeys> candidates, std::weak_ptr<Claims> claims, ClaimRequest request,
    ReplyHandler<ClaimReply> handler)
    : quorum_(std::move(quorum))
    , candidates_(std::move(candidates))
    , claims_(std::move(claims))
    , request_(std::move(request))
    , timer_(quorum_->runtime())
    , votes_(0)
    , looks_(0)
{
    handlers_.push_back(std::move(handler));
}

std::chrono::milliseconds MajorityClaim::patience() const noexcept
{
    return std::clamp<std::chrono::milliseconds>(request_.ttl / 4, 100ms, 1000ms);
}

void MajorityClaim::refuse(Failure failure)
{
    finish(std::move(failure));
}

void MajorityClaim::start(store::ClaimWindow::Place place)
{
    auto const now = runtime().now();
    place_ = std::move(place);
    began_ = now;
    if (auto const claims = claims_.lock())
        voting_ = claims->voting();
    if (request_.not_after.over(now)) {
        runtime().post([self = shared_from_this()] { self->finish(Failure::dropped()); });
        return;
    }
    until_ = request_.not_after.no_later_than(now + patience());
    arm(until_.at());
    // a new owner cannot hold the lock, so no read is needed unless others contend for it
    if (request_.range->count == 1 && !request_.earliest_attempt &&
        !candidates_->contended(request_.range->key(0), now))
        vote(0);
    else
        look();
}

bool MajorityClaim::join(ReplyHandler<ClaimReply>& handler)
{
    if (handlers_.empty())
        return false;
    handlers_.push_back(std::move(handler));
    return true;
}

void MajorityClaim::stop()
{
    stopped_ = true;
    if (rest_)
        rest_->stop();
    leave_if_over();
}

void MajorityClaim::close()
{
    stop();
    if (phase_ == Phase::pausing)
        runtime().post([self = shared_from_this()] { self->give_up_pause(); });
    else if (phase_ == Phase::completing)
        runtime().post([self = shared_from_this()] { self->hand_out(); });
}

void MajorityClaim::look()
{
    phase_ = Phase::looking;
    auto const round = ++round_;
    auto const began = runtime().now();
    looks_ = Votes<InspectReply>(quorum_->size());
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        quorum_->nodes()[node]->inspect(
            {request_.range, until_}, [self = shared_from_this(), node, round, began](InspectReply reply) {
                if (self->round_ == round && self->phase_ == Phase::looking)
                    self->looked(node, std::move(reply), began);
            });
}

void MajorityClaim::looked(std::size_t node, InspectReply reply, Instant began)
{
    looks_.cast(node, std::move(reply));
    if (looks_.complete())
        choose();
    else if (looks_.count<std::vector<KeyState>>() == quorum_->majority())
        arm(std::min(until_.at(), runtime().now() + (runtime().now() - began) + grace));
}

void MajorityClaim::choose()
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

void MajorityClaim::choose_among(std::vector<std::uint32_t> const& free)
{
    // the first free key; after losing to others, a random one of the first few, so that losers do not race for the
    // same key again
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

void MajorityClaim::pause()
{
    phase_ = Phase::pausing;
    if (stopped_)
        give_up_pause();
    else
        arm(std::min(until_.at(), runtime().now() + 1ms * (1 + static_cast<int>(runtime().random() % 8))));
}

void MajorityClaim::give_up_pause()
{
    if (phase_ == Phase::pausing)
        finish(Busy{});
}

void MajorityClaim::vote(std::uint32_t index)
{
    phase_ = Phase::voting;
    asked_at_ = runtime().now();
    index_ = index;
    auto const round = ++round_;
    votes_ = Votes<ClaimReply>(quorum_->size());
    key_ = redis::single_key(request_.range, index);
    candidates_->remove(candidate_);
    candidate_ = key_->key(0);
    candidates_->add(candidate_);
    auto request = request_;
    request.range = key_;
    request.not_after = until_;
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        quorum_->nodes()[node]->claim_vote(request, [self = shared_from_this(), node, round](ClaimReply reply) {
            self->voted(node, round, std::move(reply));
        });
}

void MajorityClaim::voted(std::size_t node, std::uint64_t round, ClaimReply reply)
{
    bool const counts = round == round_ && (phase_ == Phase::voting || phase_ == Phase::agreeing);
    if (counts) {
        votes_.cast(node, std::move(reply));
        if (phase_ == Phase::voting)
            judge();
        return;
    }
    bool const granted = std::holds_alternative<Granted>(reply);
    if (round != round_ || !succeeded_) {
        if (granted)
            give_back(node, false);
        return;
    }
    // a grant beyond the majority also belongs to the lease
    if (granted && agreement_)
        quorum_->nodes()[node]->accept_token(
            {key_, 0, request_.owner, agreement_->token(), until_}, [](TokenReply const&) {});
    else if (std::holds_alternative<Busy>(reply) && !stopped_)
        take({node});
    votes_.cast(node, std::move(reply));
    leave_if_over();
}

void MajorityClaim::judge()
{
    auto const granted = votes_.count<Granted>();
    if (granted >= quorum_->majority()) {
        if (!request_.fencing) {
            succeed(0);
            return;
        }
        phase_ = Phase::agreeing;
        auto const token = TokenAgreement::first_token(votes_);
        agreement_.emplace(*quorum_);
        propose(token);
        return;
    }
    if (votes_.count<Busy>() >= quorum_->veto() || votes_.complete())
        fail();
    else if (votes_.cast() - granted >= quorum_->veto())
        arm(std::min(
            until_.at(), runtime().now() + (runtime().now() - asked_at_) + grace)); // for the error texts of the rest
}

void MajorityClaim::propose(std::uint64_t token)
{
    auto const round = agreement_->propose(token, votes_);
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        if (agreement_->is_asked(node))
            quorum_->nodes()[node]->accept_token(
                {key_, 0, request_.owner, token, until_}, [self = shared_from_this(), node, round](TokenReply reply) {
                    if (self->phase_ == Phase::agreeing)
                        self->agreed(node, round, std::move(reply));
                });
}

void MajorityClaim::agreed(std::size_t node, std::uint64_t round, TokenReply reply)
{
    switch (agreement_->cast(node, round, std::move(reply))) {
    case TokenAgreement::State::open:
        break;
    case TokenAgreement::State::accepted:
        succeed(agreement_->token());
        break;
    case TokenAgreement::State::too_low:
        propose(agreement_->next_token());
        break;
    case TokenAgreement::State::failed:
        disagreed_ = true;
        fail();
    }
}

void MajorityClaim::fail()
{
    phase_ = Phase::giving_back;
    giving_back_ = 0;
    confirmed_ = true;
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        if (votes_.get<Granted>(node)) {
            ++giving_back_;
            give_back(node, true);
        }
    if (giving_back_ == 0)
        given_back();
}

void MajorityClaim::give_back(std::size_t node, bool counts)
{
    redlock::give_back(
        *quorum_->nodes()[node], key_, request_.owner, runtime().now() + request_.ttl,
        [self = shared_from_this(), counts, round = round_](ReleaseReply const& reply) {
            if (!counts || self->round_ != round || self->phase_ != Phase::giving_back)
                return;
            self->confirmed_ = self->confirmed_ &&
                               (std::holds_alternative<Released>(reply) || std::holds_alternative<NotOwner>(reply));
            if (--self->giving_back_ == 0)
                self->given_back();
        });
}

void MajorityClaim::given_back()
{
    bool const in_doubt = !confirmed_ || giving_back_ > 0 || !votes_.complete() || votes_.count_unknown() > 0;
    auto const held = votes_.count<Busy>();
    bool const split = votes_.complete() && held + votes_.count<Granted>() >= quorum_->majority();
    if (disagreed_ || (held < quorum_->veto() && !split)) {
        finish(not_granted(*quorum_, *key_, votes_, agreement_, in_doubt));
        return;
    }
    // an earlier attempt of this owner may still be pending, and would collide with another one
    bool const alone = request_.range->count == 1;
    if (!in_doubt && !alone && ++tries_ < most_tries && !until_.over(runtime().now())) {
        pause();
        return;
    }
    finish(held_by_others(*quorum_, votes_, alone));
}

void MajorityClaim::succeed(std::uint64_t token)
{
    succeeded_ = true;
    granted_ = granted_by_majority(votes_, index_, token, request_.ttl);
    if (stopped_ || claims_.expired() || votes_.count<Busy>() == 0)
        finish(granted_);
    else
        take_the_rest();
}

void MajorityClaim::hand_out()
{
    if (phase_ == Phase::completing)
        finish(granted_);
}

void MajorityClaim::take_the_rest()
{
    phase_ = Phase::completing;
    auto const longest = std::min<std::chrono::milliseconds>(longest_completion, request_.ttl / 10);
    arm(std::min(until_.at(), runtime().now() + longest));
    std::vector<std::size_t> missing;
    for (std::size_t node = 0; node < votes_.size(); ++node)
        if (votes_.get<Busy>(node))
            missing.push_back(node);
    take(missing);
}

void MajorityClaim::take(std::vector<std::size_t> const& missing)
{
    if (!rest_) {
        ClaimRequest claim;
        claim.range = key_;
        claim.owner = request_.owner;
        claim.ttl = request_.ttl;
        claim.reuse_after = request_.reuse_after;
        claim.not_after = granted_.since + granted_.ttl;
        claim.fencing = false;
        rest_ = std::make_shared<MinorityRetry>(
            quorum_, std::move(claim), granted_.fencing_token, [weak = weak_from_this()] {
                if (auto const self = weak.lock()) {
                    self->hand_out();
                    self->leave_if_over();
                }
            });
    }
    rest_->add(missing);
}

void MajorityClaim::on_timer()
{
    switch (phase_) {
    case Phase::looking:
        choose();
        break;
    case Phase::voting:
    case Phase::agreeing:
        disagreed_ = phase_ == Phase::agreeing;
        // time for the nodes to confirm what is given back
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
    case Phase::waiting:
    case Phase::over:
        break;
    }
}

void MajorityClaim::finish(ClaimReply const& reply)
{
    if (phase_ != Phase::waiting)
        if (auto const claims = claims_.lock())
            claims->decided(runtime().now() - began_, patience() / 2, voting_);
    phase_ = Phase::over;
    place_ = {};
    if (std::holds_alternative<Busy>(reply) && request_.range->count == 1)
        candidates_->note_contended(request_.range->key(0), runtime().now() + contention_memory);
    candidates_->remove(candidate_);
    timer_.cancel();
    leave_if_over();
    for (auto& handler : std::exchange(handlers_, {}))
        std::move(handler)(ClaimReply(reply));
}

void MajorityClaim::leave_if_over()
{
    bool const may_lack_more = succeeded_ && (!votes_.complete() || (rest_ && !rest_->over()));
    if (phase_ != Phase::over || may_lack_more)
        return;
    if (auto const claims = std::exchange(claims_, {}).lock())
        claims->remove(*this);
}

} // namespace tenure::redlock
