// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/machines/turn_machine.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

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

class Acquisition;

/** Orders the acquisitions of one store that contend for the same keys, once the store has answered that all are held.
 *  One of them, the head, contends with other processes for all; the others queue, first come, first served. The
 *  machine decides when the head claims.
 *
 *  Correctness never depends on it: the store decides every claim. Everything runs on the strand. */
class WaitQueue
{
public:
    WaitQueue(
        KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Grace const& grace);

    [[nodiscard]] bool has_head() const noexcept { return head_ != nullptr; }
    /** True if there are waiters, also during the choice of the next head. */
    [[nodiscard]] bool has_waiters() const noexcept { return head_ != nullptr || !queue_.empty(); }
    [[nodiscard]] bool is_head(Acquisition const& acquisition) const noexcept { return head_ == &acquisition; }
    /** True if hints are expected. */
    [[nodiscard]] bool watched() const noexcept { return watch_ != nullptr && machine.hints_come(); }
    [[nodiscard]] KeyRange const& range() const noexcept { return *range_; }

    /** Adds an acquisition: as head if the queue has no head, otherwise at the end. */
    void join(Acquisition& acquisition);

    /** Removes an acquisition that has ended. After the head, the next one becomes head. */
    void leave(Acquisition& acquisition);

    /** Subscribes to notifications, unless that was done or tried before. */
    static void watch(std::shared_ptr<WaitQueue> const& self);

    void carry_out(TurnMachine::Step const& step);

    void close();

    /// the rules of the range; `carry_out` does what it decides
    TurnMachine machine;

private:
    void on_event(WatchEvent event);

    KeyRangePtr range_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    /// contends for all
    Acquisition* head_ = nullptr;
    /// the others, the next head first
    std::deque<Acquisition*> queue_;
    /// `leave` chooses the next head
    bool passing_ = false;
    /// the subscription
    std::unique_ptr<Watch> watch_;
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

    [[nodiscard]] std::uint64_t random() const { return runtime_->random(); }
    [[nodiscard]] Instant now() const { return runtime_->now(); }

    // -- this store's own releases --

    void release_begins(KeyRange const& range, Instant now) const;
    /** @param freed  a key of the range became free, as far as known
     *  @param named_another  the store named a waiter of another store, which goes first */
    void release_ends(KeyRangePtr const& range, bool freed, bool named_another);

    void close();

private:
    struct Order {
        bool operator()(KeyRange const& left, KeyRange const& right) const noexcept
        {
            return std::tie(left.prefix, left.first, left.count, left.numbered, left.shares) <
                   std::tie(right.prefix, right.first, right.count, right.numbered, right.shares);
        }
    };
    struct Entry {
        explicit Entry(Runtime& runtime) noexcept
            : linger(runtime)
        {
        }
        std::shared_ptr<WaitQueue> queue;
        /// ends the queue some time after its last waiter
        Timer linger;
    };
    /** Removes the queue unless it has a head again. */
    void end_linger(KeyRange const& range);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Grace grace_;
    std::map<KeyRange, Entry, Order> queues_;
    /// this object, for its timers: expires with it
    std::shared_ptr<WaitQueues> self_{this, [](WaitQueues*) {}};
};

/** One acquisition's part in the wait queue of its range, and in the line of the store. */
class Turn
{
public:
    /** @param waiter, queues, range  which outlive this object
     *  @param notified  it gets hints and may stand in line */
    Turn(Acquisition& waiter, WaitQueues& queues, KeyRangePtr const& range, bool notified) noexcept
        : waiter_(waiter)
        , queues_(queues)
        , range_(range)
        , notified_(notified)
    {
    }

    /** When the acquisition, which begins now, claims for the first time; max: its turn has not come. */
    [[nodiscard]] Instant begin(Instant now);
    /** A claim that was sent then has found all keys held: waits in the queue from now on. Returns when to claim;
     * unset: after a pause, max: its turn has not come. */
    [[nodiscard]] std::optional<Instant> found_held(Instant sent);
    /** The store has answered a claim with this place. */
    void answered(Waits place, ClaimReply const& reply);
    /** Leaves the queue, and perhaps the line. */
    void end(bool leaves_line);
    /** Forgets the queue, because the context is being destroyed. */
    void abandon() noexcept { queue_.reset(); }

    [[nodiscard]] bool waits() const noexcept { return queue_ != nullptr; }
    /** True if hints are expected, or not known to be missing. */
    [[nodiscard]] bool hinted() const noexcept { return notified_ && (!queue_ || queue_->watched()); }
    /** Place of the next claim in the store's line. */
    [[nodiscard]] Waits place();
    /** True if a claim of this acquisition may have put the store into the line. */
    [[nodiscard]] bool may_stand_in_line() const noexcept;
    /** True if the store may stand in line after a grant.
     *  @param overlap  two claims were pending at the same time */
    [[nodiscard]] bool may_stay_in_line(bool overlap) const noexcept;
    /** As `TurnMachine::freed_at`. */
    [[nodiscard]] std::optional<Instant> freed_at() noexcept;

private:
    void join(std::shared_ptr<WaitQueue> queue);

    Acquisition& waiter_;
    WaitQueues& queues_;
    KeyRangePtr const& range_;
    bool notified_;
    /// null before it waits
    std::shared_ptr<WaitQueue> queue_;
    /// the range was contended at the beginning, so the first claim stands in line
    bool lines_up_ = false;
};

} // namespace tenure::engine
