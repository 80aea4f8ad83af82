// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The part of Candidacy that asks for a key and counts the votes.
#include "candidacy.hpp"

#include "claim_outcome.hpp"
#include "claims.hpp"
#include "give_back.hpp"
#include "split_vote.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::redlock
{

namespace
{

using redis::TokenReply;

/// how often a pool is looked through again because others were faster
constexpr unsigned most_tries = 4;
/// how long a grant waits at most for the nodes that losers give back
constexpr std::chrono::milliseconds longest_completion{50};

} // namespace

void Candidacy::vote(std::uint32_t index)
{
    phase_ = Phase::voting;
    asked_at_ = runtime().now();
    index_ = index;
    auto const round = ++round_;
    votes_ = Votes<ClaimReply>(quorum_->size());
    key_ = single_key(request_.range, index);
    candidates_->remove(candidate_);
    candidate_ = key_->key(0);
    candidates_->add(candidate_);
    ClaimRequest request;
    request.range = key_;
    request.owner = request_.owner;
    request.ttl = request_.ttl;
    request.reuse_after = request_.reuse_after;
    request.not_after = until_;
    request.fencing = request_.fencing;
    request.earliest_attempt = request_.earliest_attempt;
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        quorum_->nodes()[node]->claim_together(request, [self = shared_from_this(), node, round](ClaimReply reply) {
            self->voted(node, round, std::move(reply));
        });
}

void Candidacy::voted(std::size_t node, std::uint64_t round, ClaimReply reply)
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
    // a grant that comes after the others sufficed belongs to the lease
    if (granted && agreement_)
        tell_token(node);
    else if (std::holds_alternative<Busy>(reply))
        take_late(node);
    votes_.cast(node, std::move(reply));
    if (phase_ == Phase::over && votes_.complete())
        leave();
}

void Candidacy::judge()
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
            until_.at(), runtime().now() + (runtime().now() - asked_at_) + grace)); // for the words of the rest
}

void Candidacy::propose(std::uint64_t token)
{
    auto const round = agreement_->propose(token, votes_);
    for (std::size_t node = 0; node < quorum_->size(); ++node)
        if (agreement_->is_asked(node))
            quorum_->nodes()[node]->accept_token(
                {key_, 0, request_.owner, token, until_.at()},
                [self = shared_from_this(), node, round](TokenReply reply) {
                    if (self->phase_ == Phase::agreeing)
                        self->agreed(node, round, std::move(reply));
                });
}

void Candidacy::agreed(std::size_t node, std::uint64_t round, TokenReply reply)
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

void Candidacy::tell_token(std::size_t node)
{
    quorum_->nodes()[node]->accept_token(
        {key_, 0, request_.owner, agreement_->token(), until_.at()}, [](TokenReply const&) {});
}

void Candidacy::fail()
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

void Candidacy::give_back(std::size_t node, bool counts)
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

void Candidacy::given_back()
{
    bool const in_doubt = !confirmed_ || giving_back_ > 0 || !votes_.complete() || votes_.count_unknown() > 0;
    auto const held = votes_.count<Busy>();
    bool const split = votes_.complete() && held + votes_.count<Granted>() >= quorum_->majority();
    if (disagreed_ || (held < quorum_->veto() && !split)) {
        finish(no_majority(*quorum_, *key_, votes_, agreement_, in_doubt));
        return;
    }
    // with a try of this owner still under way somewhere, another one would meet it
    bool const alone = request_.range->count == 1;
    if (!in_doubt && !alone && ++tries_ < most_tries && !until_.over(runtime().now())) {
        pause();
        return;
    }
    finish(held_by_others(*quorum_, votes_, alone));
}

void Candidacy::succeed(std::uint64_t token)
{
    succeeded_ = true;
    granted_ = granted_by_majority(votes_, index_, token, request_.ttl);
    if (stopped_ || votes_.count<Busy>() == 0)
        finish(granted_);
    else
        take_the_rest();
}

void Candidacy::hand_out()
{
    if (phase_ == Phase::completing)
        finish(granted_);
}

void Candidacy::take_the_rest()
{
    phase_ = Phase::completing;
    auto const longest = std::min<std::chrono::milliseconds>(longest_completion, request_.ttl / 10);
    arm(std::min(until_.at(), runtime().now() + longest));
    std::vector<std::size_t> missing;
    for (std::size_t node = 0; node < votes_.size(); ++node)
        if (votes_.get<Busy>(node))
            missing.push_back(node);
    take(std::move(missing), [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->hand_out();
    });
}

void Candidacy::take_late(std::size_t node)
{
    if (stopped_)
        return;
    if (auto const rest = rest_.lock())
        rest->add(node);
    else
        take({node}, [] {});
}

void Candidacy::take(std::vector<std::size_t> missing, std::function<void()> over)
{
    auto const claims = claims_.lock();
    if (!claims) {
        over();
        return;
    }
    ClaimRequest claim;
    claim.range = key_;
    claim.owner = request_.owner;
    claim.ttl = request_.ttl;
    claim.reuse_after = request_.reuse_after;
    claim.not_after = granted_.since + granted_.ttl;
    claim.fencing = false;
    auto rest = std::make_shared<SplitVote>(
        quorum_, claims_, std::move(claim), granted_.fencing_token, std::move(missing), std::move(over));
    rest_ = rest;
    rest->start();
    // before the caller knows of its lease, and may release it
    claims->add(std::move(rest));
}

} // namespace tenure::redlock
