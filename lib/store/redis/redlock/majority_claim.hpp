// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claims.hpp"
#include "minority_retry.hpp"
#include "quorum.hpp"
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

/** One claim under way on all nodes: chooses a key, claims it on all nodes, and gives a minority of grants back. See
 *  `Claims::claim`.
 *
 *  Held by `Claims` until it has answered, all nodes have that it was granted without, and nothing more is tried for
 *  what the lease lacks; and by the questions that nodes have not answered. Timers do not hold it, for a runtime that
 *  is gone never rings them. */
class MajorityClaim : public std::enable_shared_from_this<MajorityClaim>
{
public:
    MajorityClaim(
        QuorumPtr quorum, std::shared_ptr<ContendedKeys> candidates, std::weak_ptr<Claims> claims, ClaimRequest request,
        ReplyHandler<ClaimReply> handler);

    void start();

    /** The same owner asks again: it gets the same answer. False if it has been given. */
    [[nodiscard]] bool join(ReplyHandler<ClaimReply>& handler);

    /** What may be granted is being given back: it waits for nothing that others decide. */
    void stop();

    /** The nodes are closed: they answer the requests under way, and this claim waits for no timer. */
    void close();

    [[nodiscard]] std::string const& owner() const noexcept { return request_.owner; }

private:
    enum class Phase { looking, voting, agreeing, completing, giving_back, pausing, over };

    /// how much longer than those that have answered the other nodes may take where their answers decide nothing
    static constexpr std::chrono::milliseconds grace{5};

    [[nodiscard]] Runtime& runtime() const noexcept { return quorum_->runtime(); }

    // which key
    void look();
    void looked(std::size_t node, InspectReply reply, Instant began);
    void choose();
    void choose_among(std::vector<std::uint32_t> const& free);
    /** Other claims are voting on the free keys: some of the keys may be left. */
    void pause();
    void give_up_pause();

    // a majority of claims
    void vote(std::uint32_t index);
    void voted(std::size_t node, std::uint64_t round, ClaimReply reply);
    void judge();

    // a token that a majority has not seen yet
    void propose(std::uint64_t token);
    void agreed(std::size_t node, std::uint64_t round, redis::TokenReply reply);

    // no majority
    void fail();
    void give_back(std::size_t node, bool counts);
    /** All that was taken is given back, or the time for it is over. */
    void given_back();

    // time, and the end
    /// replaces what the timer was set to
    void arm(Instant when) { timer_.at(when, weak_from_this(), &MajorityClaim::rang); }
    void rang();
    void succeed(std::uint64_t token);
    /** A majority is had; what losers give back is asked for, and waited for a moment. */
    void take_the_rest();
    /** Asks these nodes again, whatever becomes of the grant meanwhile. */
    void take(std::vector<std::size_t> const& missing);
    void hand_out();
    void finish(ClaimReply const& reply);
    /** Once it has answered, and of a lease that it has granted all is known that is missing and can be had. */
    void leave_if_over();

    QuorumPtr quorum_;
    std::shared_ptr<ContendedKeys> candidates_;
    /// where it is registered
    std::weak_ptr<Claims> claims_;
    ClaimRequest request_;
    /// of the engine, which may ask twice; empty: answered
    std::vector<ReplyHandler<ClaimReply>> handlers_;
    Phase phase_ = Phase::looking;
    /// of looking and voting: what belongs to an earlier one does not count
    std::uint64_t round_ = 0;
    /// when the nodes that have not answered are no longer waited for
    Deadline until_;
    /// when the votes were asked for
    Instant asked_at_{};
    Timer timer_;
    unsigned tries_ = 0;
    /// the key that is voted on
    std::uint32_t index_ = 0;
    KeyRangePtr key_;
    /// its name among the candidates; empty: none yet
    std::string candidate_;
    /// of no nodes until they are asked
    Votes<ClaimReply> votes_;
    Votes<InspectReply> looks_;
    /// with fencing, once a majority has granted
    std::optional<TokenAgreement> agreement_;
    /// releases under way, and whether all that ended were answered
    std::size_t giving_back_ = 0;
    bool confirmed_ = true;
    /// a majority has granted
    bool succeeded_ = false;
    Granted granted_{};
    /// what the granted lease lacks; null: nothing, as far as is known
    std::shared_ptr<MinorityRetry> rest_;
    /// the lease is being released, or the store is closed
    bool stopped_ = false;
    /// a majority granted, but did not agree on a token
    bool disagreed_ = false;
};

} // namespace tenure::redlock
