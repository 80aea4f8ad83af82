// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenure::engine
{

/// a `claim_at` that has come
inline constexpr Instant at_once = Instant::min();

/** How long a store holds back after a release has named another store: long enough for the named store to be notified
 * and to claim. It assumes that the claims of others take as long as its own. */
class Grace
{
public:
    void claim_took(Clock::duration time) noexcept { round_trip_ += (time - round_trip_) / 4; }

    /** The end of a grace that begins now, with jitter so that stores do not resume at the same instant. */
    [[nodiscard]] Instant over_at(Instant now, std::uint64_t random) const noexcept;

private:
    /// moving average of the last claims
    Clock::duration round_trip_{};
};

/** When the waiters of one store may claim the keys of a range, and where their claims stand in the line that the store
 *  keeps of waiting processes. One waiter, the head, contends for all. A pure state machine; no I/O, no clock.
 *
 *  1. The head claims at once after each hint, when hints begin, and after this process has freed a key.
 *  2. Once hints come, each claim of a waiter stands in line; if they end, the store leaves the line.
 *  3. After a release has named the store, its next claim goes to the front; if that fails, the one after it.
 *  4. If it is named while it has no head, this counts for a head whose first claim was sent before.
 *  5. While others are named, the head holds back for a grace, unless it holds back already.
 *  6. A grace is two round trips of a claim, at least 10 ms and at most 250 ms, and up to twice as long by jitter.
 *  7. If a release of this process names others, the head and all later acquisitions hold back for a grace.
 *  8. For two seconds after that, a new acquisition waits a grace for the pending releases of this process.
 *  9. A grant takes the store out of the line, so the head claims again if another waiter got the key.
 * 10. A place may stay behind if a waiter gives up while others wait, or the store is named while a claim is pending,
 *      or less than a grace after a claim took a place that may not be the named one: an earlier claim had taken one,
 *      or was granted without waiting for its name.
 * 11. A new head claims at once, or at the end of the grace. */
class TurnMachine
{
public:
    /// how long the rules and the subscription of a range outlive its last waiter, because contention returns
    static constexpr std::chrono::seconds linger{2};

    /** The acquisition that contends for all. */
    struct Head {
        /// there is one
        bool exists = false;
        /// a claim is pending
        bool asks = false;
        /// it waits for others before its first claim of this turn
        bool holds_back = false;
    };

    /** The actions after an event. */
    struct Step {
        /// when the head claims; unset: as planned before
        std::optional<Instant> claim_at = std::nullopt;
        bool leave_line = false;
    };

    TurnMachine(bool keeps_line, Grace const& grace) noexcept
        : keeps_line_(keeps_line)
        , grace_(grace)
    {
    }

    /** The subscription has sent this. */
    [[nodiscard]] Step news(backend::WatchEvent event, Head head, Instant now, std::uint64_t random);
    /** A waiter has become the head. */
    [[nodiscard]] Step turn_begins(Instant now) const;
    /** No waiter is left. */
    void no_head() noexcept { named_ = false; }
    /** When an acquisition that begins now may claim; unset: at once. */
    [[nodiscard]] std::optional<Instant> opens_at(Instant now, std::uint64_t random) const;

    // -- claims of waiters --

    /** The place in line of a claim that is sent now. */
    [[nodiscard]] backend::Waits next_place();
    /** A claim with this place has failed. */
    void claim_failed(backend::Waits place) noexcept { named_ = named_ || place == backend::Waits::in_front; }
    /** A claim with a place has found all keys held: the store stands in line. */
    [[nodiscard]] Step placed(Instant now) noexcept;
    /** A claim that was sent then has found all keys held: another program took the freed key. */
    void found_held(Instant sent) noexcept;
    /** True if the store was named after this instant, while the head's first claim was pending. */
    [[nodiscard]] bool named_since(Instant sent) noexcept;
    /** A claim with this place was granted. */
    [[nodiscard]] Step granted(backend::Waits place, bool to_head);
    /** A claim from before the wait queue has put the store into the line. */
    void stands_in_line() noexcept { lined_up_ = true; }
    /** A waiter gave up, or its claim reached the store late. */
    void gave_up(bool others_wait) noexcept { place_may_stay_ = others_wait; }

    // -- this process's releases --

    void release_begins(Instant now) noexcept;
    /** A release was answered or given up. */
    [[nodiscard]] Step release_ends(bool freed) noexcept;
    /** The answer to a release named another store. */
    [[nodiscard]] Step release_named_another(Instant now, std::uint64_t random);

    // -- for acquisitions --

    /** True if waiters stand in line and are notified of their turn. */
    [[nodiscard]] bool lines_up() const noexcept;
    /** True if the store may stand in line. */
    [[nodiscard]] bool lined_up() const noexcept { return lined_up_; }
    /** True if a name may have stayed in line after a grant. */
    [[nodiscard]] bool place_may_stay() const noexcept { return place_may_stay_; }
    /** False if the store sends no hints. */
    [[nodiscard]] bool hints_come() const noexcept { return hints_ != Hints::ended; }
    /** When a key was released that a waiter may now take; unset if none is known of. The next call knows of none. */
    [[nodiscard]] std::optional<Instant> freed_at() noexcept;

private:
    enum class Hints { none_yet, come, ended };

    /** A release was notified. */
    void note_release(Head head, Instant now) noexcept;
    [[nodiscard]] Step named(Head head, Instant now);

    bool keeps_line_;
    /// shared by all ranges of the store
    Grace const& grace_;
    /// whether the subscription was in force, and whether the store will send no hints
    Hints hints_ = Hints::none_yet;
    /// a claim was sent that may have put the store into the line
    bool lined_up_ = false;
    /// see rule 10
    bool place_may_stay_ = false;
    /// the next name may be that of an earlier place: a claim has found all keys held since the last name, or was
    /// granted without waiting for it
    bool placed_ = false;
    /// when the last claim after such a one found all keys held
    std::optional<Instant> placed_again_;
    /// a release named this store, and no claim was answered since
    bool named_ = false;
    /// when a release last named this store while it had no head
    Instant named_without_head_at_ = Instant::min();
    /// this process's unanswered releases; too low if some began before the wait queue existed
    std::size_t releases_ = 0;
    /// others are known to wait until then
    Instant contended_until_ = Instant::min();
    /// a release of this process named another store, which goes first until then
    Instant held_until_ = Instant::min();
    /// since when a key may be free that a waiter can take
    std::optional<Instant> freed_at_;
};

} // namespace tenure::engine
