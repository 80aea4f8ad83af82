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

    /// of the last claims, the latest counts most
    Clock::duration round_trip_{};
};

class Acquisition;

/** Orders the acquisitions of one store that want the same keys, once the store has said that all are held: one of
 * them, the head, contends with other processes for all; the others queue, first come first served. Where the store
 * keeps a line of waiters, the head stands in it for all, and holds back while others were named.
 *
 *  Correctness never depends on it: the store decides every claim. Everything runs on the strand.
 */
class WaitQueue : public std::enable_shared_from_this<WaitQueue>
{
public:
    /// how long a wait queue is kept after the last waiter left, with its subscription: contention comes back
    static constexpr std::chrono::seconds linger{2};

    WaitQueue(
        KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Grace const& grace);

    [[nodiscard]] bool closed() const noexcept { return head_ != nullptr; }
    /** Whether there are waiters, also during the choice of the next head. */
    [[nodiscard]] bool has_waiters() const noexcept { return head_ != nullptr || !queue_.empty(); }
    [[nodiscard]] bool is_head(Acquisition const& acquisition) const noexcept { return head_ == &acquisition; }
    /** Hints are expected to come. */
    [[nodiscard]] bool watched() const noexcept { return watch_ != nullptr && !polling_; }
    /** Whether waiters are in the store's line and are notified of their turn. */
    [[nodiscard]] bool lines_up() const noexcept { return keeps_line_ && (was_in_force_ || lined_up_) && !polling_; }
    /** The store may stand in line for this wait queue's sake. */
    [[nodiscard]] bool may_stand_in_line() const noexcept { return lined_up_; }
    [[nodiscard]] KeyRange const& range() const noexcept { return *range_; }

    /** Becomes the head if there is none, else joins the queue. True for the head. */
    bool join(Acquisition& acquisition);

    /** An acquisition ends, however: if it was the head, the next one takes its turn and tries at once. */
    void leave(Acquisition& acquisition);

    /** Subscribes to news, unless that was done or tried before. */
    void watch();

    /** A key may have become free. */
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

    /** How the claim of a waiter that is sent now stands in line. */
    [[nodiscard]] Waits next_place();
    /** The head's first claim stood in line before it came here: whether the store was named while that was under way.
     * Its next claim stands in front then. */
    [[nodiscard]] bool named_since(Instant when);
    /** A waiter's claim that was to stand in line like this has failed: the next one tries again. */
    void place_missed(Waits place) noexcept { named_ = named_ || place == Waits::in_front; }
    /** A waiter's claim found all keys held, and the store stands in line. */
    void place_taken();
    /** Its claim was sent before it came here. */
    void stands_in_line() noexcept { lined_up_ = true; }
    /** Whether, after the last waiter's grant, a place may be left from one that gave up: its claim may have come to
     * the store after the one that was granted. */
    void place_may_stay(bool may) noexcept { place_may_stay_ = may; }
    [[nodiscard]] bool place_may_stay() const noexcept { return place_may_stay_; }
    /** A claim that stood in line was granted, and the store's name left the line. */
    void granted(Acquisition const& acquisition);

    // -- this store's own releases --

    /** When an acquisition that begins now may claim; past if at once. */
    [[nodiscard]] Instant opens_at(Instant now);
    /** A release was sent. */
    void release_begins(Instant now) noexcept
    {
        ++releases_;
        freed_at_ = now;
    }
    /** It was answered, or given up. */
    void release_ends(bool freed);
    /** It was answered, and named another store. */
    void release_named_another();

    void close();

private:
    void on_event(WatchEvent event);
    /** The store has told of a release. */
    void note_release();
    /** To the first of the queue. */
    void promote_next();
    [[nodiscard]] Instant grace_over(Instant now);

    KeyRangePtr range_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    /// the store's
    Grace const& grace_;
    bool keeps_line_;
    Acquisition* head_ = nullptr;
    std::deque<Acquisition*> queue_;
    /// the next head is being found, one after another
    bool passing_ = false;
    std::unique_ptr<Watch> watch_;
    /// since then news come, but for interruptions
    bool was_in_force_ = false;
    /// the store will send no hints
    bool polling_ = false;
    /// a claim was sent that may have put this store into the line
    bool lined_up_ = false;
    /// a waiter gave up that may have been in line while others continued to wait; or a claim reached the store after
    /// the name had left the line
    bool place_may_stay_ = false;
    /// a release named this store, and no claim was answered since
    bool named_ = false;
    /// when a release last named this store while no waiter stood here
    Instant named_nobody_at_ = Instant::min();
    /// releases of this store without an answer. Some began before the wait queue was made, so it may be too small
    std::size_t releases_ = 0;
    /// until then other stores are known to wait: a new acquisition lets a release that is under way end first
    Instant contended_until_ = Instant::min();
    /// until then another store, which a release of this one named, goes first
    Instant held_until_ = Instant::min();
    /// since when a key may be free that a waiter can take
    std::optional<Instant> freed_at_;
};

/** The wait queues of one store, by range. There are none while nothing is contended for, and then nothing here costs
 * more than a look. */
class WaitQueues
{
public:
    WaitQueues(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend);

    /** The wait queue of the range; null if it has had no waiters recently. */
    [[nodiscard]] std::shared_ptr<WaitQueue> find(KeyRange const& range) const;
    [[nodiscard]] std::shared_ptr<WaitQueue> find_or_make(KeyRangePtr const& range);
    /** A waiter left: a wait queue without waiters is kept for a while, because its state is still useful. */
    void left(std::shared_ptr<WaitQueue> const& queue);

    /** A waiter gave up, or its claim came to the store after that: without others the store leaves the line. */
    void gave_up(KeyRangePtr const& range) const;

    /** A claim was answered after this time. */
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
    /// outlives nothing: timers that ring after this object has gone find it expired
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace tenure::engine
