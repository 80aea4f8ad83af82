// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace tenure::engine
{

/** How long a store holds back after a release has named another store: long enough for the named store to be notified
 * and to claim. It assumes that the claims of others take as long as its own. */
class Grace
{
public:
    void claim_took(Clock::duration time) noexcept { round_trip_ += (time - round_trip_) / 4; }

    /** The end of a grace that begins now, with jitter so that stores do not resume at the same instant. */
    [[nodiscard]] Instant over_at(Instant now, std::uint64_t random) const noexcept
    {
        auto const grace = std::clamp<Clock::duration>(round_trip_ * 2, shortest, longest);
        return now + grace + grace / 1024 * static_cast<Clock::rep>(random % 1024);
    }

private:
    static constexpr Clock::duration shortest = std::chrono::milliseconds{10};
    /// a slow answer must not delay a waiter much longer than a poll would
    static constexpr Clock::duration longest = std::chrono::milliseconds{250};

    /// moving average of the last claims
    Clock::duration round_trip_{};
};

class Acquisition;

/** Orders the acquisitions of one store that contend for the same keys, once the store has answered that all are held.
 *  One of them, the head, contends with other processes for all; the others queue, first come, first served. If the
 *  store keeps a line of waiters, the head stands in it for all, and holds back while others are named.
 *
 *  Correctness never depends on it: the store decides every claim. Everything runs on the strand. */
class WaitQueue : public std::enable_shared_from_this<WaitQueue>
{
public:
    /// how long a wait queue and its subscription outlive the last waiter, because contention returns
    static constexpr std::chrono::seconds linger{2};

    WaitQueue(
        KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Grace const& grace);

    [[nodiscard]] bool closed() const noexcept { return head_ != nullptr; }
    /** True if there are waiters, also during the choice of the next head. */
    [[nodiscard]] bool has_waiters() const noexcept { return head_ != nullptr || !queue_.empty(); }
    [[nodiscard]] bool is_head(Acquisition const& acquisition) const noexcept { return head_ == &acquisition; }
    /** True if hints are expected. */
    [[nodiscard]] bool watched() const noexcept { return watch_ != nullptr && !polling_; }
    /** True if waiters are in the store's line and are notified of their turn. */
    [[nodiscard]] bool lines_up() const noexcept { return keeps_line_ && (was_in_force_ || lined_up_) && !polling_; }
    /** True if this wait queue may have put the store into the line. */
    [[nodiscard]] bool may_stand_in_line() const noexcept { return lined_up_; }
    [[nodiscard]] KeyRange const& range() const noexcept { return *range_; }

    /** Adds an acquisition: as head if the queue has no head, otherwise at the end. Returns true for the head. */
    bool join(Acquisition& acquisition);

    /** Removes an acquisition that has ended. After the head, the next one becomes head and tries at once. */
    void leave(Acquisition& acquisition);

    /** Subscribes to notifications, unless that was done or tried before. */
    void watch();

    /** Handles a hint that a key may be free. */
    void hint();

    // -- for the metrics --

    /** When a key was released that a waiter may now take; unset if none is known of. The next call knows of none. */
    [[nodiscard]] std::optional<Instant> freed_at() noexcept { return std::exchange(freed_at_, std::nullopt); }
    /** A waiter's claim that was sent then has found all keys held: another program took what had been released. */
    void found_held(Instant asked) noexcept
    {
        if (freed_at_ && *freed_at_ <= asked)
            freed_at_.reset();
    }

    // -- the store's line --

    /** Place of the next claim of a waiter in the store's line. */
    [[nodiscard]] Waits next_place();
    /** True if the store was named after this instant, while the head's first claim was pending. Its next claim then
     *  goes to the front of the line. */
    [[nodiscard]] bool named_since(Instant when);
    /** Handles the failure of a waiter's claim with this place: the next claim tries again. */
    void place_missed(Waits place) noexcept { named_ = named_ || place == Waits::in_front; }
    /** Records that a waiter's claim found all keys held, and put the store into the line. */
    void place_taken();
    /** Records that a claim from before the wait queue put the store into the line. */
    void stands_in_line() noexcept { lined_up_ = true; }
    /** After the grant to the last waiter: records whether a waiter that gave up may have left a place in line, because
     *  its claim may have reached the store after the granted one. */
    void place_may_stay(bool may) noexcept { place_may_stay_ = may; }
    [[nodiscard]] bool place_may_stay() const noexcept { return place_may_stay_; }
    /** Records the grant of a claim in line: the store's name left the line. */
    void granted(Acquisition const& acquisition);

    // -- this store's own releases --

    /** When an acquisition that begins now may claim; in the past: at once. */
    [[nodiscard]] Instant opens_at(Instant now);
    /** Counts a release that was sent. */
    void release_begins(Instant now) noexcept
    {
        ++releases_;
        freed_at_ = now;
    }
    /** Counts a release that was answered or given up. */
    void release_ends(bool freed);
    /** The answer to a release named another store: holds back. */
    void release_named_another();

    void close();

private:
    void on_event(WatchEvent event);
    /** Notes that a release was notified. */
    void note_release();
    /** Makes the first of the queue the head. */
    void promote_next();
    [[nodiscard]] Instant grace_over(Instant now);

    KeyRangePtr range_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    /// shared by all wait queues of the store
    Grace const& grace_;
    bool keeps_line_;
    Acquisition* head_ = nullptr;
    std::deque<Acquisition*> queue_;
    /// `promote_next` is running
    bool passing_ = false;
    std::unique_ptr<Watch> watch_;
    /// the subscription was in force once; later gaps are interruptions
    bool was_in_force_ = false;
    /// the store will send no hints
    bool polling_ = false;
    /// a claim was sent that may have put the store into the line
    bool lined_up_ = false;
    /// A waiter that may have been in line gave up while others waited, or a claim reached the store after the name had
    /// left the line.
    bool place_may_stay_ = false;
    /// a release named this store, and no claim was answered since
    bool named_ = false;
    /// when a release last named this store while it had no waiter here
    Instant named_nobody_at_ = Instant::min();
    /// this store's unanswered releases; too low if some began before the wait queue existed
    std::size_t releases_ = 0;
    /// other stores are known to wait until then: a new acquisition waits for the end of a pending release
    Instant contended_until_ = Instant::min();
    /// a release of this store named another store, which goes first until then
    Instant held_until_ = Instant::min();
    /// since when a key may be free that a waiter can take
    std::optional<Instant> freed_at_;
};

/** The wait queues of one store, by range. Without contention there are none, and operations only search an empty map.
 */
class WaitQueues
{
public:
    WaitQueues(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend);

    /** The wait queue of the range; null if it has had no waiters recently. */
    [[nodiscard]] std::shared_ptr<WaitQueue> find(KeyRange const& range) const;
    [[nodiscard]] std::shared_ptr<WaitQueue> find_or_make(KeyRangePtr const& range);
    /** A waiter left. A wait queue without waiters is kept for a while, because its state is still useful. */
    void left(std::shared_ptr<WaitQueue> const& queue);

    /** A waiter gave up, or its claim reached the store later: without other waiters the store leaves the line. */
    void gave_up(KeyRangePtr const& range) const;

    /** Records how long the answer to a claim took. */
    void claim_took(Clock::duration time) noexcept { grace_.claim_took(time); }

    // -- this store's own releases --

    void release_begins(KeyRange const& range, Instant now) const;
    void release_ends(KeyRange const& range, bool freed) const;
    void release_named_another(KeyRangePtr const& range);

    void close();

private:
    struct Order {
        bool operator()(KeyRange const& left, KeyRange const& right) const noexcept
        {
            return std::tie(left.prefix, left.first, left.count, left.numbered) <
                   std::tie(right.prefix, right.first, right.count, right.numbered);
        }
    };
    struct Entry {
        std::shared_ptr<WaitQueue> queue;
        Runtime::TimerId linger = 0;
    };

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Grace grace_;
    std::map<KeyRange, Entry, Order> queues_;
    /// Expires with this object: timers that fire later check it.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace tenure::engine
