// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace tenure::engine
{

/** One acquisition from the call to its end, as a pure state machine: it decides when the store is asked, when to wait
 * and for how long, and when to give up; no I/O, no clock.
 *
 *  Whose turn it is among the acquisitions of one process is the wait queue's business, and told by `ask_now`. */
class AcquireMachine
{
public:
    struct Limits {
        /// when the caller stops waiting
        Instant deadline = Instant::max();
        /// one attempt, whose answer is final
        bool only_try = false;
        /// an unanswered claim is retried after this time, then after twice this time, and so on up to half a minute
        Clock::duration patience{};
        /// waiters are notified of releases (else the machine polls more often)
        bool hints = true;
        /// keys may become free without any news, because other programs release them: it polls steadily
        bool silent_releases = false;
        /// the longest pause between two claims
        Clock::duration longest_pause = std::chrono::seconds{1};
    };

    /** The actions after an event. */
    struct Step {
        /// send a claim
        bool ask = false;
        /// the acquisition ends with this error
        std::optional<error_code> finish;
        /// look again at this instant at the latest
        Instant wake_at = Instant::max();
    };

    explicit AcquireMachine(Limits const& limits) noexcept
        : limits_(limits)
    {
    }

    /** It is this acquisition's turn, or a key may have become free, or a subscription has come into force: asks at
     * once, or right after the answer that is awaited. */
    [[nodiscard]] Step ask_now(Instant now);
    /** It is not its turn: it waits for `ask_now` or the deadline. */
    [[nodiscard]] Step queue_up(Instant now);
    /** Others were named: asks then, and no later than it would have polled. One that has not claimed since its turn
     * began waits for no others. */
    [[nodiscard]] Step yield(Instant until, Instant now);
    /** Others were named by this store's own release, or may be: likewise, and one that has not claimed since its turn
     * began asks then too, or when half of the rest of its wait has passed. */
    [[nodiscard]] Step hold_back(Instant until, Instant now);
    [[nodiscard]] Step tick(Instant now);

    /** All keys are held; the first of them expires in `earliest_expiry`.
     *  @param took  how long the claim took from question to answer */
    [[nodiscard]] Step busy(Busy const& reply, Clock::duration took, Instant now, std::uint64_t random);
    /** The one key that a claim asked for is held: all keys are asked for at once.
     *  @param is_first  false: they were asked for before, because another claim for that key had this answer */
    [[nodiscard]] Step preferred_held(bool is_first, Instant now, std::uint64_t random);
    /** The claim failed: refused, not sent or unknown. */
    [[nodiscard]] Step failed(error_code error, bool fatal, Instant now, std::uint64_t random);
    /** A grant was unusable (it came too late, or the store did not confirm it) and was given back. Its owner is spent:
     * this machine no longer gets answers to other claims of that owner. */
    [[nodiscard]] Step given_back(error_code error, bool fatal, Instant now, std::uint64_t random);
    /** The owner of the answered claim is spent: this machine no longer gets answers to its other claims. */
    void owner_spent() noexcept { asked_ = std::min(asked_, 1U); }
    /** Sets whether releases will be notified; else the machine polls more often. */
    void expect_hints(bool expected) noexcept { limits_.hints = expected; }
    /** The acquisition has ended: the machine sends no further claims. */
    void end() noexcept { phase_ = Phase::ended; }
    [[nodiscard]] bool ended() const noexcept { return phase_ == Phase::ended; }
    [[nodiscard]] bool asking() const noexcept { return asked_ > 0; }
    /** While one answer is looked at: others are awaited. */
    [[nodiscard]] bool asking_more() const noexcept { return asked_ > 1; }
    /** Nothing at all was answered. */
    [[nodiscard]] bool silence() const noexcept { return asked_ > 0 && !last_; }
    /** The error for a wait that ends now. */
    [[nodiscard]] error_code reason() const;

private:
    /// `held_back`: it is its turn, and others go first
    enum class Phase { idle, queued, held_back, asking, waiting, ended };

    void answered() noexcept;
    /** How long the answer of a claim that is sent now is waited for. */
    [[nodiscard]] Clock::duration patience() const noexcept;
    [[nodiscard]] Step ask(Instant now);
    [[nodiscard]] Step wait_until(Instant instant, Instant now);
    [[nodiscard]] Step finish(error_code error);
    [[nodiscard]] Clock::duration next_backoff(std::uint64_t random, Clock::duration longest) noexcept;
    [[nodiscard]] Clock::duration next_poll(Clock::duration took, std::uint64_t random) noexcept;

    Limits limits_;
    Phase phase_ = Phase::idle;
    /// claims sent and not yet answered
    unsigned asked_ = 0;
    /// a claim was requested while an answer was pending
    bool ask_after_answer_ = false;
    /// when to ask again: the backoff is over, a key expires, or patience with an unanswered claim ends
    Instant next_ask_ = Instant::max();
    /// the time of the next claim, even if others are named meanwhile: the end of the pause after the last answer, or
    /// the latest end of holding back
    Instant poll_at_ = Instant::max();
    /// others were named since the last claim was sent: asks then, unless its poll comes first
    Instant yields_until_ = Instant::max();
    Clock::duration backoff_{};
    /// the last answer
    error_code last_;
};

} // namespace tenure::engine
