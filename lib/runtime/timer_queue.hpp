// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenure
{

/** Timers in the order in which they are due; those with equal times in the order in which they were added.
 *
 *  Optimized for timers that are cancelled far more often than they fire. A steady load does not allocate, and removed
 *  entries stay in the heap until they are most of it. Not thread-safe. */
class TimerQueue
{
public:
    using Id = Runtime::TimerId;

    [[nodiscard]] bool empty() const noexcept { return live_ == 0; }

    Id add(Instant when, Task task)
    {
        if (free_.empty()) {
            slots_.emplace_back();
            free_.reserve(slots_.capacity());
            free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
        }
        auto const place = free_.back();
        auto& slot = slots_[place];
        // not before timers that are already due: a task that sets itself for the past would block the others forever
        heap_.push_back({std::max(when, looked_at_), ++added_, place, slot.round});
        std::push_heap(heap_.begin(), heap_.end(), Later{});
        free_.pop_back();
        slot.task = std::move(task);
        ++live_;
        return id_of(place, slot.round);
    }

    /** False for a timer that was taken or removed, or never added. */
    bool remove(Id id) noexcept
    {
        auto const place = static_cast<std::uint32_t>(id);
        if (place >= slots_.size() || id_of(place, slots_[place].round) != id)
            return false;
        // destroying the task may call this queue
        Task const task = release(place);
        if (heap_.size() > smallest_worth_a_sweep && heap_.size() > 2 * live_)
            sweep();
        return true;
    }

    /** When the first timer is due; Instant::max(): none. */
    [[nodiscard]] Instant first_due() noexcept
    {
        drop_removed();
        return heap_.empty() ? Instant::max() : heap_.front().when;
    }

    /** Counts added timers: see `take_due`. */
    [[nodiscard]] std::uint64_t added() const noexcept { return added_; }

    /** Takes the first due timer, if it is one of the first `among` that were ever added. */
    [[nodiscard]] Task take_due(Instant now, std::uint64_t among) noexcept
    {
        looked_at_ = std::max(looked_at_, now);
        drop_removed();
        if (heap_.empty() || heap_.front().when > now || heap_.front().number > among)
            return {};
        auto const place = heap_.front().place;
        pop();
        return release(place);
    }

private:
    static constexpr std::size_t smallest_worth_a_sweep = 64;

    struct Entry {
        Instant when;
        std::uint64_t number;
        std::uint32_t place;
        std::uint32_t round;
    };
    struct Later {
        bool operator()(Entry const& left, Entry const& right) const noexcept
        {
            return left.when != right.when ? left.when > right.when : left.number > right.number;
        }
    };
    struct Slot {
        Task task;
        /// changes when the slot is freed, from 1 on, so that old ids become invalid
        std::uint32_t round = 1;
    };

    [[nodiscard]] static Id id_of(std::uint32_t place, std::uint32_t round) noexcept
    {
        return static_cast<Id>(round) << 32U | place;
    }

    [[nodiscard]] bool is_removed(Entry const& entry) const noexcept
    {
        return slots_[entry.place].round != entry.round;
    }

    Task release(std::uint32_t place) noexcept
    {
        auto& slot = slots_[place];
        if (++slot.round == 0)
            slot.round = 1;
        --live_;
        free_.push_back(place); // never allocates: it has room for all of them
        return std::move(slot.task);
    }

    void pop() noexcept
    {
        std::pop_heap(heap_.begin(), heap_.end(), Later{});
        heap_.pop_back();
    }

    void drop_removed() noexcept
    {
        while (!heap_.empty() && is_removed(heap_.front()))
            pop();
    }

    void sweep() noexcept
    {
        std::erase_if(heap_, [this](Entry const& entry) { return is_removed(entry); });
        std::make_heap(heap_.begin(), heap_.end(), Later{});
    }

    std::vector<Slot> slots_;
    /// free slots
    std::vector<std::uint32_t> free_;
    /// including removed entries
    std::vector<Entry> heap_;
    std::size_t live_ = 0;
    std::uint64_t added_ = 0;
    /// the latest instant for which a timer was taken
    Instant looked_at_ = Instant::min();
};

} // namespace tenure
