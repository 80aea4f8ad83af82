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

using boost::system::error_code;

/** One acquisition from the call to its end, as a pure state machine. It decides when to claim, how long to wait, and
 *  when to give up; no I/O, no clock.
 *
 *  The wait queue decides whose turn it is among the acquisitions of one process, and calls `claim_at`. */
class AcquireMachine
{
public:
    struct Limits {
        /// when the caller stops waiting
        Instant deadline = Instant::max();
        /// one attempt, whose answer is final
        bool only_try = false;
        /// A written claim that stays without any answer is retried after this time, then after twice this time, and
        /// so on up to half a minute. A claim that waits to be written is never retried.
        Clock::duration patience{};
        /// waiters are notified of releases (else the machine polls more often)
        bool hints = true;
        /// other programs release keys without notifications, so the machine polls steadily
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
        /// call `tick` no later than this
        Instant wake_at = Instant::max();
    };

    explicit AcquireMachine(Limits const& limits) noexcept
        : limits_(limits)
    {
    }

    /** Claims at this instant, as the wait queue decides. If it has come: at once, or right after the pending answer.
     * If it is max, it is not its turn: waits for another call or the deadline. Else others go first: claims no later
     * than its next poll. Before its first claim of this turn it holds back until then, or until half of the rest of
     * its wait has passed. */
    [[nodiscard]] Step claim_at(Instant when, Instant now);
    [[nodiscard]] Step tick(Instant now);
    /** When to stop trying to send a claim of an acquisition that began at `started`: a little before its deadline, so
     *  that the error can name the cause. */
    [[nodiscard]] Instant write_by(Instant started) const noexcept;
    /** The store wrote a step of the pending claim, or got the answer to one, at this instant: patience counts from it.
     */
    void progressed(Instant when) noexcept;

    /** All keys are held; the first of them expires in `earliest_expiry`.
     *  @param took  time between the claim and its answer
     *  @param ask_by  of a place: when to claim again, as `PlaceMachine` decides; max: polls */
    [[nodiscard]] Step busy(
        backend::Busy const& reply, Clock::duration took, Instant now, std::uint64_t random,
        Instant ask_by = Instant::max());
    /** The only key of a claim is held: claims any key at once.
     *  @param is_first  false: that was done before, after the same answer to another claim for the key */
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
    /** The acquisition has ended: no further claims. */
    void end() noexcept { phase_ = Phase::ended; }
    [[nodiscard]] bool ended() const noexcept { return phase_ == Phase::ended; }
    [[nodiscard]] bool asking() const noexcept { return asked_ > 0; }
    /** True if other claims are pending, during the processing of an answer. */
    [[nodiscard]] bool asking_more() const noexcept { return asked_ > 1; }
    /** True if two claims were pending at the same time. */
    [[nodiscard]] bool claims_overlapped() const noexcept { return overlapped_; }
    /** True if it waits for others before its first claim of this turn. */
    [[nodiscard]] bool holds_back() const noexcept { return phase_ == Phase::held_back; }
    /** True if no claim was answered. */
    [[nodiscard]] bool silence() const noexcept { return asked_ > 0 && !last_; }
    /** The error of a wait that ends now. */
    [[nodiscard]] error_code reason() const;

private:
    /// `held_back`: it is its turn, but others go first
    enum class Phase { idle, queued, held_back, asking, waiting, ended };

    void answered() noexcept;
    /** How long a claim that is sent now may stay unanswered. */
    [[nodiscard]] Clock::duration patience() const noexcept;
    [[nodiscard]] Step ask(Instant now);
    void hold_back(Instant until, Instant now) noexcept;
    [[nodiscard]] Step wait() const noexcept;
    [[nodiscard]] Step wait_until(Instant instant, Instant now);
    [[nodiscard]] Step finish(error_code error);
    [[nodiscard]] Clock::duration next_backoff(std::uint64_t random, Clock::duration longest) noexcept;
    [[nodiscard]] Clock::duration next_poll(Clock::duration took, std::uint64_t random) noexcept;

    Limits limits_;
    Phase phase_ = Phase::idle;
    /// number of pending claims
    unsigned asked_ = 0;
    /// two were pending at the same time
    bool overlapped_ = false;
    /// a claim was requested while an answer was pending
    bool ask_after_answer_ = false;
    /// when to claim again: the pause is over, a key expires, or a claim stays unanswered. While nothing of the claim
    /// is written: when to look at its progress
    Instant next_ask_ = Instant::max();
    /// nothing of the last claim is written, so it must not be repeated
    bool unwritten_ = false;
    /// when to claim even if others are named meanwhile: the end of the pause after the last answer, or the latest end
    /// of holding back
    Instant poll_at_ = Instant::max();
    /// others were named since the last claim: claims at this instant, unless its poll comes first
    Instant yields_until_ = Instant::max();
    Clock::duration backoff_{};
    /// How long claims take. It rises at most twofold with each claim: after a longer pause this process itself may be
    /// slow, because its memory has left the caches, and an even longer pause would follow.
    Clock::duration took_ = std::chrono::microseconds{500};
    /// the last answer
    error_code last_;
};

} // namespace tenure::engine
