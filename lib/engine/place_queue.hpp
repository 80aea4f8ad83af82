// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/machines/place_machine.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace tenure::engine
{

class Acquisition;
class PlaceTurn;

/** Orders the acquisitions of one store that wait for shares of the same key. The first of them, the heads, have places
 *  in the store, which decides their order among all processes; the others queue, first come, first served.
 *
 *  Everything runs on the strand. */
class PlaceQueue
{
public:
    PlaceQueue(KeyRangePtr range, Runtime& runtime, std::shared_ptr<Backend> backend);

    /** Adds a waiter. True: it is a head. */
    [[nodiscard]] bool join(PlaceTurn& turn);
    /** Removes a waiter that has ended. Its successors become heads. */
    void leave(PlaceTurn& turn);
    /** The waiter that becomes head when this head leaves, if both want the same share; else null. */
    [[nodiscard]] PlaceTurn* heir_of(PlaceTurn const& turn) const noexcept;

    /** Subscribes to messages, unless that was done before. */
    static void watch(std::shared_ptr<PlaceQueue> const& self);
    /** True if messages are expected, or not known to be missing. */
    [[nodiscard]] bool messages_come() const noexcept { return messages_come_; }
    [[nodiscard]] bool subscribed() const noexcept { return watch_ != nullptr; }
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
    [[nodiscard]] std::string const& key() const noexcept { return range_->prefix; }
    void close();

    /// ends the queue some time after its last waiter
    Timer linger;

private:
    [[nodiscard]] bool next_is_head() const noexcept;
    void on_news(WatchNews news);

    KeyRangePtr range_;
    std::shared_ptr<Backend> backend_;
    /// in local order
    std::deque<PlaceTurn*> waiting_;
    /// number of heads: the first ones
    std::size_t heads_ = 0;
    /// `leave` chooses the next heads
    bool passing_ = false;
    /// the subscription
    std::unique_ptr<Watch> watch_;
    /// false: the store will send none
    bool messages_come_ = true;
};

/** The place queues of one store, by key. Stores without locks that have shares have none. */
class PlaceQueues
{
public:
    PlaceQueues(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend);

    [[nodiscard]] std::shared_ptr<PlaceQueue> find_or_make(KeyRangePtr const& range);
    /** A waiter left. A queue with a subscription is kept for a while. */
    void left(PlaceQueue& queue);
    void close();

private:
    /** Removes the queue unless it has waiters again. */
    void end_linger(std::string const& key);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    std::map<std::string, std::shared_ptr<PlaceQueue>> queues_;
    /// this object, for its timers: expires with it
    std::shared_ptr<PlaceQueues> self_{this, [](PlaceQueues*) {}};
};

/** One acquisition's part in the place queue of its key. */
class PlaceTurn
{
public:
    /** @param of, queues, range  which outlive this object
     *  @param wanted  its share of the key
     *  @param notified  it gets messages */
    PlaceTurn(
        Acquisition& of, PlaceQueues& queues, KeyRangePtr const& range, Share const& wanted, bool notified) noexcept
        : waiter(of)
        , share(wanted)
        , queues_(queues)
        , range_(range)
        , notified_(notified)
    {
    }

    /** Queues. When the acquisition, which begins now, claims for the first time; max: it is not a head. */
    [[nodiscard]] Instant begin();
    /** A claim of this head did not hold. */
    void found_held();
    void end();
    /** Forgets the queue, because the context is being destroyed. */
    void abandon() noexcept { queue_.reset(); }

    /** The claim takes a place, unless it is a single try. */
    void complete(ClaimRequest& request) const;
    /** True once a claim did not hold. */
    [[nodiscard]] bool waits() const noexcept { return waits_; }
    /** True if messages are expected, or not known to be missing. */
    [[nodiscard]] bool hinted() const noexcept { return notified_ && (!queue_ || queue_->messages_come()); }
    /** As `PlaceQueue::heir_of`. */
    [[nodiscard]] PlaceTurn* heir() const noexcept { return queue_ ? queue_->heir_of(*this) : nullptr; }

    Acquisition& waiter;
    Share const share;
    PlaceMachine machine;

private:
    PlaceQueues& queues_;
    KeyRangePtr const& range_;
    bool notified_;
    /// see `waits`
    bool waits_ = false;
    /// null before `begin`; a single try has none
    std::shared_ptr<PlaceQueue> queue_;
};

} // namespace tenure::engine
