// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claims.hpp"
#include "minority_retry.hpp"
#include "quorum.hpp"
#include "runtime/names.hpp"
#include "token_agreement.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redlock
{

/** One pending claim on all nodes: chooses a key, claims it on all nodes, and gives back a minority of grants. See
 *  `Claims::claim`.
 *
 *  `Claims` owns it until it has answered, all nodes have replied and retries for missing nodes have ended; so do
 *  unanswered requests. Timers do not own it, because a destroyed runtime never fires them. */
class MajorityClaim : public std::enable_shared_from_this<MajorityClaim>
{
public:
    MajorityClaim(
        QuorumPtr quorum, std::shared_ptr<ContendedKeys> candidates, std::weak_ptr<Claims> claims, ClaimRequest request,
        ReplyHandler<ClaimReply> handler);

    /** Begins; `place` is kept until the answer. */
    void start(store::ClaimWindow::Place place);

    /** Its turn did not come: answers the failure. */
    void refuse(Failure failure);

    /** Adds a request of the same owner, which gets the same answer. False if the answer was already given. */
    [[nodiscard]] bool join(ReplyHandler<ClaimReply>& handler);

    /** The grant is being given back: ends all waits for other claims. */
    void stop();

    /** The nodes are closed: they answer the pending requests, and this claim waits for no timer. */
    void close();

    [[nodiscard]] std::string const& owner() const noexcept { return request_.owner; }
    [[nodiscard]] Deadline const& not_after() const noexcept { return request_.not_after; }

private:
    enum class Phase { waiting, looking, voting, agreeing, completing, giving_back, pausing, over };

    /// extra time for the remaining nodes, if their answers decide nothing
    static constexpr std::chrono::milliseconds grace{5};

    /** How long it may take from its turn on. */
    [[nodiscard]] std::chrono::milliseconds patience() const noexcept;
    [[nodiscard]] Runtime& runtime() const noexcept { return quorum_->runtime(); }

    // chooses a key
    void look();
    void looked(std::size_t node, InspectReply reply, Instant began);
    void choose();
    void choose_among(std::vector<std::uint32_t> const& free);
    /** Pauses while other claims vote on the free keys, because some keys may be left. */
    void pause();
    void give_up_pause();

    // requests the grants of a majority
    void vote(std::uint32_t index);
    void voted(std::size_t node, std::uint64_t round, ClaimReply reply);
    void judge();

    // proposes a token that is new to a majority
    void propose(std::uint64_t token);
    void agreed(std::size_t node, std::uint64_t round, redis::TokenReply reply);

    // ends without a majority
    void fail();
    void give_back(std::size_t node, bool counts);
    /** All taken keys were given back, or the time for it is over. */
    void given_back();

    // timer and end
    /// replaces the earlier time of the timer
    void arm(Instant when) { timer_.at(when, weak_from_this(), &MajorityClaim::on_timer); }
    void on_timer();
    void succeed(std::uint64_t token);
    /** A majority has granted: requests the nodes that losers give back, and waits briefly for them. */
    void take_the_rest();
    /** Claims these nodes again, independently of the grant's progress. */
    void take(std::vector<std::size_t> const& missing);
    void hand_out();
    void finish(ClaimReply const& reply);
    /** Deregisters once the claim is answered and the state of every node is known, or cannot improve. */
    void leave_if_over();

    QuorumPtr quorum_;
    std::shared_ptr<ContendedKeys> candidates_;
    /// the registry of this claim
    std::weak_ptr<Claims> claims_;
    ClaimRequest request_;
    /// handlers of the engine, which may ask twice; empty: answered
    std::vector<ReplyHandler<ClaimReply>> handlers_;
    Phase phase_ = Phase::waiting;
    /// among the claims that vote; empty: its turn did not come, or it was answered
    store::ClaimWindow::Place place_;
    /// when its turn came, and how many claims voted then, with this one
    Instant began_{};
    std::size_t voting_ = 1;
    /// counts rounds of reading and voting, so that late replies are ignored
    std::uint64_t round_ = 0;
    /// the end of the wait for missing replies
    Deadline until_;
    /// when the votes were requested
    Instant asked_at_{};
    Timer timer_;
    unsigned tries_ = 0;
    /// the key of the vote
    std::uint32_t index_ = 0;
    KeyRangePtr key_;
    /// its name in `ContendedKeys`; empty: no vote yet
    std::string candidate_;
    /// empty until the nodes are asked
    Votes<ClaimReply> votes_;
    Votes<InspectReply> looks_;
    /// with fencing, after a majority has granted
    std::optional<TokenAgreement> agreement_;
    /// pending releases, and whether all finished ones were answered
    std::size_t giving_back_ = 0;
    bool confirmed_ = true;
    /// a majority has granted
    bool succeeded_ = false;
    Granted granted_{};
    /// retries for nodes that the granted lease lacks; null: none known
    std::shared_ptr<MinorityRetry> rest_;
    /// the lease is being released, or the store is closed
    bool stopped_ = false;
    /// a majority granted, but did not agree on a token
    bool disagreed_ = false;
};

} // namespace tenure::redlock
