// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "lease_terms.hpp"

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenure::engine
{

/** The life of one lease after its grant, as a pure state machine: events and instants in, actions out; no I/O, no
 *  clock.
 *
 *  Four rules hold. Validity counts from before the answered request, and only an answer extends it. A failed request
 *  is repeated until time or a proven loss ends the lease. An unanswered one is repeated only where a new connection to
 *  the store may answer it: a slow store must not get more requests than a fast one. After the end the machine sends
 *  nothing. */
class LeaseMachine
{
public:
    using AttemptId = std::uint64_t;

    /** The actions after an event. */
    struct Step {
        /// send a renewal with this id and `ttl()`; 0: none
        AttemptId renew = 0;
        /// cancel the token for this reason
        CancelReason fire = CancelReason::none;
        /// call `tick` no later than this
        Instant wake_at = Instant::max();
        /// the answer counts, and `last_margin` belongs to it
        bool renewed = false;
    };

    LeaseMachine(LeaseTerms const& terms, Instant since, milliseconds granted_ttl, Instant now) noexcept;

    /** A claim with this ttl is pending or was lost: it may set the store's ttl again at any time. */
    void expect_claim(milliseconds ttl) noexcept { shortest_unknown_ = std::min(shortest_unknown_, ttl); }

    /** Time has passed. A renewal that falls due within `slack` is sent at once, so that renewals leave in batches. */
    [[nodiscard]] Step tick(Instant now, Clock::duration slack);

    /** A renewal was answered: the store keeps the claim for `granted` counted from `since`. */
    [[nodiscard]] Step renewed(AttemptId id, milliseconds granted, Instant since, Instant now, std::uint64_t random);

    /** A renewal failed: refused, not sent, or (`may_take_effect`) with unknown outcome. */
    [[nodiscard]] Step failed(AttemptId id, bool may_take_effect, Instant now, std::uint64_t random);

    /** The store proved that the key is not ours. */
    [[nodiscard]] Step disowned();

    /** The holder requests a renewal with this ttl (zero: unchanged). A shorter ttl shortens the validity at once. */
    [[nodiscard]] Step renew_now(milliseconds ttl, Instant now);

    /** A new connection to the store works: failed renewals are retried at once, and unanswered ones as soon as their
     *  answer is overdue. */
    [[nodiscard]] Step reachable(Instant now) noexcept;

    /** The lease was released: the machine sends no further renewals. */
    void end() noexcept { ended_ = true; }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] Instant valid_until() const noexcept { return valid_until_; }
    /** When the token is cancelled unless a renewal succeeds. */
    [[nodiscard]] Instant fires_at() const noexcept;
    /** The reason of that cancellation. */
    [[nodiscard]] CancelReason fires_because() const noexcept;
    [[nodiscard]] bool at_risk() const noexcept { return at_risk_ && !ended_; }
    [[nodiscard]] milliseconds ttl() const noexcept { return ttl_; }
    /** The ttl that the store granted last. */
    [[nodiscard]] milliseconds granted_ttl() const noexcept { return granted_ttl_; }
    /** The longest time for which the store may keep the claim from now on, for any set of executed requests. */
    [[nodiscard]] milliseconds longest_ttl() const noexcept;
    /** Time until the cancellation when the last renewal succeeded. */
    [[nodiscard]] Clock::duration last_margin() const noexcept { return last_margin_; }

private:
    /** An unanswered renewal. */
    struct Attempt {
        AttemptId id;
        milliseconds ttl;
        Instant sent;
        /// a later attempt was answered, so this one no longer shows the store's state
        bool superseded;
        /// shortest ttl of all attempts that were pending with it: the last executed one decides, in an unknown order
        milliseconds shortest;
        /// the longest of these ttls
        milliseconds longest;
    };

    [[nodiscard]] AttemptId begin_attempt(Instant now);
    [[nodiscard]] Step reschedule() const noexcept;
    [[nodiscard]] Step fire(CancelReason reason) noexcept;
    /** Cancels if the time is over, and otherwise marks the lease at risk if an answer is overdue. */
    [[nodiscard]] CancelReason what_time_says(Instant now) noexcept;
    [[nodiscard]] Instant oldest_unanswered() const noexcept;
    /** How long a renewal may stay unanswered before the lease is at risk. */
    [[nodiscard]] Clock::duration patience() const noexcept { return Clock::duration(ttl_) / 6; }
    [[nodiscard]] milliseconds notice() const noexcept;
    /** The time between two renewals while validity depends on this ttl. */
    [[nodiscard]] Clock::duration interval(milliseconds ttl, std::uint64_t random) const noexcept;
    /** When a renewal with this planned time leaves. It must not be so late that the next one would be too late. */
    [[nodiscard]] Instant in_time(Instant planned, Instant now) const noexcept;

    RenewalTerms terms_;
    /// the requested ttl, which the holder may change
    milliseconds ttl_;
    milliseconds granted_ttl_;
    Instant valid_until_;
    /// the ttl that `valid_until_` is based on
    milliseconds usable_ttl_;
    /// the end of max_hold; max: no limit
    Instant hold_until_ = Instant::max();
    Instant next_renewal_ = Instant::max();
    Clock::duration last_margin_{};
    std::vector<Attempt> attempts_;
    AttemptId last_id_ = 0;
    /// attempts up to this one requested an outdated ttl
    AttemptId outdated_ = 0;
    /// shortest ttl of the attempts and claims with unknown outcome, which may still take effect
    milliseconds shortest_unknown_ = milliseconds::max();
    /// the longest of these ttls
    milliseconds longest_unknown_{0};
    /// the longest ttl of the attempts that were pending with the last answered one: it may have taken effect later
    milliseconds longest_answered_{0};
    /// since the last success
    unsigned failures_ = 0;
    bool at_risk_ = false;
    /// cancelled or released
    bool ended_ = false;
};

} // namespace tenure::engine
