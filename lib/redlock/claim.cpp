// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim.hpp"

#include "mutation.hpp"
#include "survey.hpp"
#include "votes.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;
using redis::TokenAccepted;
using redis::TokenReply;
using redis::TokenRequest;
using redis::TokenTooLow;

/// how often a pool is looked through again because others were faster
constexpr unsigned most_tries = 4;
/// how much longer than those that have answered the other nodes may take where their answers decide nothing
constexpr auto grace = 5ms;
/// when and how often a winner asks those nodes again that a loser held
constexpr auto first_completion = 10ms;
constexpr unsigned most_completions = 4;
/// a lock that others held is looked at before it is claimed, for so long
constexpr auto contention_memory = 10s;

} // namespace

/** Held by `Claims` and by the questions that nodes have not answered; timers do not hold it, for a runtime that is
 * gone never rings them. */
class Candidacy : public std::enable_shared_from_this<Candidacy>
{
public:
    Candidacy(
        QuorumPtr quorum, std::shared_ptr<Candidates> candidates, std::weak_ptr<Claims> claims, ClaimRequest request,
        ReplyHandler<ClaimReply> handler)
        : quorum_(std::move(quorum))
        , candidates_(std::move(candidates))
        , claims_(std::move(claims))
        , request_(std::move(request))
        , votes_(quorum_->size())
        , looks_(quorum_->size())
    {
        handlers_.push_back(std::move(handler));
    }

    void start()
    {
        auto const now = runtime().now();
        if (now >= request_.not_after) {
            runtime().post([self = shared_from_this()] { self->finish(NotSent{}); });
            return;
        }
        auto const patience = std::clamp<std::chrono::milliseconds>(request_.ttl / 4, 100ms, 1000ms);
        until_ = std::min(request_.not_after, now + patience);
        arm(until_);
        // a new owner cannot have a lock already: no need to look, unless others contend for it
        if (request_.range->count == 1 && !request_.earliest_attempt &&
            !candidates_->contended(request_.range->key(0), now))
            vote(0);
        else
            look();
    }

    /** What was granted is being given back: it takes nothing more. */
    void stop()
    {
        stopped_ = true;
        runtime().cancel(std::exchange(completion_timer_, 0));
        leave();
    }

    /** The nodes are closed: what they were asked they answer, but nothing waits for time to pass any more. */
    void close()
    {
        stop();
        if (phase_ == Phase::pausing)
            runtime().post([self = shared_from_this()] { self->give_up_pause(); });
    }

    [[nodiscard]] std::string const& owner() const noexcept { return request_.owner; }

    [[nodiscard]] bool join(ReplyHandler<ClaimReply>& handler)
    {
        if (handlers_.empty())
            return false;
        handlers_.push_back(std::move(handler));
        return true;
    }

private:
    enum class Phase { looking, voting, agreeing, giving_back, pausing, over };

    [[nodiscard]] Runtime& runtime() const noexcept { return quorum_->runtime(); }
    [[nodiscard]] std::string name_of(std::size_t node) const { return quorum_->nodes()[node]->describe(); }

    // -- which key --

    void look()
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

    void looked(std::size_t node, InspectReply reply, Instant began)
    {
        looks_.cast(node, std::move(reply));
        if (looks_.complete())
            choose();
        else if (looks_.count<std::vector<KeyState>>() == quorum_->majority())
            arm(std::min(until_, runtime().now() + (runtime().now() - began) + grace));
    }

    void choose()
    {
        arm(until_);
        if (looks_.count<std::vector<KeyState>>() < quorum_->majority()) {
            VerdictBuilder verdict(*quorum_, request_.range->describe());
            for (std::size_t node = 0; node < quorum_->size(); ++node)
                if (!looks_.is_cast(node))
                    verdict.add(name_of(node), "no answer in time");
                else if (!looks_.get<std::vector<KeyState>>(node))
                    (void)verdict.add_failure(name_of(node), looks_.of(node));
            auto told = verdict.take();
            // nothing was asked for yet
            finish(NotSent{told.error, std::move(told.detail), told.fatal});
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

    void choose_among(std::vector<std::uint32_t> const& free)
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

    /** Others are voting on what is free: some of it may be left. */
    void pause()
    {
        phase_ = Phase::pausing;
        if (stopped_)
            give_up_pause();
        else
            arm(std::min(until_, runtime().now() + 1ms * (1 + static_cast<int>(runtime().random() % 8))));
    }

    void give_up_pause()
    {
        if (phase_ == Phase::pausing)
            finish(Busy{});
    }

    // -- a majority of claims --

    void vote(std::uint32_t index)
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
        request.not_after = until_;
        request.fencing = request_.fencing;
        request.earliest_attempt = request_.earliest_attempt;
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            quorum_->nodes()[node]->claim(request, [self = shared_from_this(), node, round](ClaimReply reply) {
                self->voted(node, round, std::move(reply));
            });
    }

    void voted(std::size_t node, std::uint64_t round, ClaimReply reply)
    {
        bool const counts = round == round_ && (phase_ == Phase::voting || phase_ == Phase::agreeing);
        if (counts) {
            votes_.cast(node, std::move(reply));
            if (phase_ == Phase::voting)
                judge();
            return;
        }
        // a grant that comes after the others sufficed belongs to the lease; any other is given back
        bool const belongs = round == round_ && succeeded_;
        if (!std::holds_alternative<Granted>(reply))
            return;
        if (!belongs)
            give_back(node, false);
        else if (request_.fencing)
            quorum_->nodes()[node]->accept_token(token_request(), [](TokenReply const&) {});
    }

    void judge()
    {
        auto const granted = votes_.count<Granted>();
        if (granted >= quorum_->majority()) {
            if (request_.fencing)
                propose_first();
            else
                succeed(0);
            return;
        }
        if (votes_.count<Busy>() >= quorum_->veto() || votes_.complete())
            fail();
        else if (votes_.cast() - granted >= quorum_->veto())
            arm(std::min(until_, runtime().now() + (runtime().now() - asked_at_) + grace)); // for the words of the rest
    }

    // -- a token that a majority has not seen yet --

    void propose_first()
    {
        phase_ = Phase::agreeing;
        std::uint64_t highest = 0;
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            if (auto const* const grant = votes_.get<Granted>(node))
                highest = std::max(highest, grant->fencing_token);
        if (mutated(Mutant::token_not_agreed))
            succeed(highest);
        else
            propose(highest + 1);
    }

    void propose(std::uint64_t token)
    {
        token_ = token;
        auto const proposal = ++proposal_;
        tokens_.emplace(quorum_->size());
        asked_ = 0;
        auto const request = token_request();
        for (std::size_t node = 0; node < quorum_->size(); ++node) {
            if (!votes_.get<Granted>(node))
                continue;
            ++asked_;
            quorum_->nodes()[node]->accept_token(
                request, [self = shared_from_this(), node, proposal](TokenReply reply) {
                    if (self->phase_ == Phase::agreeing && self->proposal_ == proposal)
                        self->agreed(node, std::move(reply));
                });
        }
    }

    [[nodiscard]] TokenRequest token_request() const { return {key_, 0, request_.owner, token_, until_}; }

    void agreed(std::size_t node, TokenReply reply)
    {
        tokens_->cast(node, std::move(reply));
        auto const accepted = tokens_->count<TokenAccepted>();
        if (accepted >= quorum_->majority()) {
            succeed(token_);
            return;
        }
        if (accepted + (asked_ - tokens_->cast()) >= quorum_->majority())
            return;
        std::uint64_t highest = 0;
        for (std::size_t i = 0; i < quorum_->size(); ++i)
            if (auto const* const low = tokens_->get<TokenTooLow>(i))
                highest = std::max(highest, low->last);
        if (highest > 0) {
            propose(highest + 1);
        } else {
            disagreed_ = true;
            fail();
        }
    }

    void succeed(std::uint64_t token)
    {
        succeeded_ = true;
        token_ = token;
        Granted granted{index_, token, request_.ttl, Instant::max(), nullptr};
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            if (auto const* const grant = votes_.get<Granted>(node)) {
                granted.since = std::min(granted.since, grant->since);
                granted.ttl = std::min(granted.ttl, grant->ttl);
            }
        granted_until_ = granted.since + granted.ttl;
        finish(std::move(granted));
        complete_soon();
        leave();
    }

    // -- the nodes that others held for a moment --

    /** A lease on a bare majority is lost with one server more. Those whose votes were split give back at once what
     * they took, and then the rest can be had; what is still missing later a renewal brings. */
    void complete_soon()
    {
        if (stopped_ || completions_ == most_completions || votes_.count<Busy>() == 0)
            return;
        auto const pause = first_completion * (1 << completions_++);
        completion_timer_ = runtime().call_at(runtime().now() + pause, [weak = weak_from_this()] {
            if (auto const self = weak.lock()) {
                self->completion_timer_ = 0;
                self->complete();
                self->leave();
            }
        });
    }

    void complete()
    {
        auto const now = runtime().now();
        if (stopped_ || now >= granted_until_)
            return;
        ClaimRequest request;
        request.range = key_;
        request.owner = request_.owner;
        request.ttl = request_.ttl;
        request.not_after = granted_until_;
        request.fencing = false;
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            if (votes_.get<Busy>(node)) {
                ++completing_;
                quorum_->nodes()[node]->claim(request, [self = shared_from_this(), node](ClaimReply reply) {
                    --self->completing_;
                    self->completed(node, std::move(reply));
                    self->leave();
                });
            }
        complete_soon();
    }

    void completed(std::size_t node, ClaimReply reply)
    {
        if (!std::holds_alternative<Granted>(reply))
            return;
        if (stopped_) {
            give_back(node, false);
            return;
        }
        votes_.cast(node, std::move(reply));
        if (request_.fencing)
            quorum_->nodes()[node]->accept_token(token_request(), [](TokenReply const&) {});
    }

    // -- no majority --

    void fail()
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

    void give_back(std::size_t node, bool counts)
    {
        auto claim = std::make_shared<Claim>();
        claim->range = key_;
        claim->owner = request_.owner;
        ReleaseRequest request;
        request.claim = std::move(claim);
        request.not_after = runtime().now() + request_.ttl;
        quorum_->nodes()[node]->release(
            std::move(request), [self = shared_from_this(), counts, round = round_](ReleaseReply const& reply) {
                if (!counts || self->round_ != round || self->phase_ != Phase::giving_back)
                    return;
                self->confirmed_ = self->confirmed_ &&
                                   (std::holds_alternative<Released>(reply) || std::holds_alternative<NotOwner>(reply));
                if (--self->giving_back_ == 0)
                    self->given_back();
            });
    }

    /** All that was taken is given back, or the time for it is over. */
    void given_back()
    {
        bool const in_doubt = !confirmed_ || giving_back_ > 0 || !votes_.complete() || votes_.count<Unknown>() > 0;
        auto const held = votes_.count<Busy>();
        bool const split = votes_.complete() && held + votes_.count<Granted>() >= quorum_->majority();
        if (disagreed_ || (held < quorum_->veto() && !split)) {
            finish(no_majority(in_doubt));
            return;
        }
        // with a try of this owner still under way somewhere, another one would meet it
        if (!in_doubt && request_.range->count > 1 && ++tries_ < most_tries && runtime().now() < until_) {
            pause();
            return;
        }
        finish(held_by_others());
    }

    [[nodiscard]] Busy held_by_others() const
    {
        // where the votes were split nobody has it, and when it frees nobody knows
        if (votes_.count<Granted>() > 0)
            return {};
        Busy busy;
        std::vector<std::optional<std::chrono::milliseconds>> remaining;
        std::size_t endless = 0;
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            if (auto const* const held = votes_.get<Busy>(node)) {
                remaining.push_back(held->earliest_expiry);
                endless += held->never_frees ? 1 : 0;
            }
        busy.earliest_expiry = until_majority_is_free(*quorum_, std::move(remaining));
        busy.never_frees = request_.range->count == 1 && endless >= quorum_->veto();
        return busy;
    }

    [[nodiscard]] ClaimReply no_majority(bool in_doubt)
    {
        VerdictBuilder builder(*quorum_, key_->describe());
        for (std::size_t node = 0; node < quorum_->size(); ++node) {
            if (!votes_.is_cast(node))
                builder.add_silence(name_of(node));
            else if (votes_.get<Granted>(node))
                builder.add(name_of(node), agreement_of(node));
            else if (votes_.get<Busy>(node))
                builder.add(name_of(node), "held by another owner");
            else
                (void)builder.add_failure(name_of(node), votes_.of(node));
        }
        auto verdict = builder.take();
        if (in_doubt)
            return Unknown{verdict.error, std::move(verdict.detail)};
        return Refused{verdict.error, std::move(verdict.detail), verdict.fatal};
    }

    [[nodiscard]] std::string agreement_of(std::size_t node) const
    {
        if (!tokens_)
            return "granted, and given back";
        if (tokens_->get<TokenAccepted>(node))
            return "granted with its fencing token, and given back";
        if (tokens_->get<NotOwner>(node))
            return "granted, and lost before the fencing token was agreed on";
        return "granted, but did not accept the fencing token; given back";
    }

    // -- time, and the end --

    void arm(Instant when)
    {
        runtime().cancel(timer_);
        timer_ = runtime().call_at(when, [weak = weak_from_this()] {
            if (auto const self = weak.lock()) {
                self->timer_ = 0;
                self->rang();
            }
        });
    }

    void rang()
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
        case Phase::giving_back:
            given_back();
            break;
        case Phase::pausing:
            if (runtime().now() >= until_) {
                finish(Busy{});
            } else {
                arm(until_);
                look();
            }
            break;
        case Phase::over:
            break;
        }
    }

    void finish(ClaimReply const& reply)
    {
        phase_ = Phase::over;
        if (std::holds_alternative<Busy>(reply) && request_.range->count == 1)
            candidates_->note_contended(request_.range->key(0), runtime().now() + contention_memory);
        candidates_->remove(candidate_);
        runtime().cancel(std::exchange(timer_, 0));
        for (auto& handler : std::exchange(handlers_, {}))
            std::move(handler)(reply);
        if (!succeeded_)
            leave();
    }

    /** Answered, and nothing is asked of the nodes any more that a release would have to stop. */
    void leave()
    {
        if (phase_ != Phase::over || completion_timer_ != 0 || completing_ > 0)
            return;
        if (auto const claims = std::exchange(claims_, {}).lock())
            claims->remove(*this);
    }

    QuorumPtr quorum_;
    std::shared_ptr<Candidates> candidates_;
    /// where it is registered; empty: it has left
    std::weak_ptr<Claims> claims_;
    ClaimRequest request_;
    /// of the engine, which may ask twice; empty: answered
    std::vector<ReplyHandler<ClaimReply>> handlers_;
    Phase phase_ = Phase::looking;
    /// of looking and voting: what belongs to an earlier one does not count
    std::uint64_t round_ = 0;
    std::uint64_t proposal_ = 0;
    /// when the nodes that have not answered are not waited for any more
    Instant until_{};
    /// when the votes were asked for
    Instant asked_at_{};
    Runtime::TimerId timer_ = 0;
    unsigned tries_ = 0;
    /// the key that is voted on
    std::uint32_t index_ = 0;
    KeyRangePtr key_;
    /// its name among the candidates; empty: none yet
    std::string candidate_;
    Votes<ClaimReply> votes_;
    Votes<InspectReply> looks_;
    std::optional<Votes<TokenReply>> tokens_;
    std::uint64_t token_ = 0;
    /// nodes that were asked to accept it
    std::size_t asked_ = 0;
    /// releases under way, and whether all that ended were answered
    std::size_t giving_back_ = 0;
    bool confirmed_ = true;
    bool succeeded_ = false;
    /// granted: when the store lets go of it unless it is renewed
    Instant granted_until_{};
    /// how often the missing nodes were asked again
    unsigned completions_ = 0;
    /// until the next time; 0: not waiting for it
    Runtime::TimerId completion_timer_ = 0;
    /// of these, what is not answered yet
    std::size_t completing_ = 0;
    /// the lease is being released, or the store is closed
    bool stopped_ = false;
    /// a majority granted, but did not agree on a token
    bool disagreed_ = false;
};

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
        // answered, and only looking for the rest of what it was granted
        auto const old = found->second;
        old->stop();
    }
    auto candidacy =
        std::make_shared<Candidacy>(quorum_, candidates_, weak_from_this(), std::move(request), std::move(handler));
    under_way_.insert_or_assign(candidacy->owner(), candidacy);
    candidacy->start();
}

void Claims::stop(std::string_view owner)
{
    auto const found = under_way_.find(owner);
    if (found == under_way_.end())
        return;
    // it may remove itself
    auto const candidacy = found->second;
    candidacy->stop();
}

void Claims::remove(Candidacy const& candidacy)
{
    auto const found = under_way_.find(candidacy.owner());
    if (found != under_way_.end() && found->second.get() == &candidacy)
        under_way_.erase(found);
}

void Claims::close()
{
    auto const all = std::exchange(under_way_, {});
    for (auto const& [owner, candidacy] : all)
        candidacy->close();
}

} // namespace tenure::redlock
