// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "grace.hpp"
#include "wait_queue.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/key_range.hpp>

#include <map>
#include <memory>
#include <tuple>

namespace tenure::engine
{

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

    void release_begins(KeyRange const& range) const;
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
