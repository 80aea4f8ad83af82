// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/auditor.hpp"
#include "harness/immovable.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

inline constexpr std::uint32_t held_keys = 50;
inline constexpr std::uint32_t contended_keys = 16;

/** Observations of leases over some time. */
struct Observed {
    static constexpr auto never = std::chrono::nanoseconds::max();

    /// of the contended pool
    std::uint64_t grants = 0;
    std::chrono::nanoseconds longest_without_grant{0};
    /// ns of CLOCK_BOOTTIME; 0: none
    std::int64_t last_grant = 0;
    /// tokens of both pools that fired, by their reason
    std::uint64_t lost = 0;
    std::uint64_t expired = 0;
    /// tokens whose waiters were not told within two seconds after `cancelled()` was true
    std::uint64_t untold = 0;
    /// keys of the held pool that others were granted
    std::uint64_t taken = 0;
    /// validity that was left when a renewal of a held lease was seen; `never`: none was
    std::chrono::nanoseconds least_margin = never;
    /// of tokens that expired: from when they had to fire to the call of the waiter, and validity that was left then
    std::chrono::nanoseconds latest_firing{0};
    std::chrono::nanoseconds least_left = never;

    void add(Observed const& other);
};

/** The load that runs while members of a cluster are cut off: a store holds all 50 slots of a pool, others wait for one
 * of them to become free, and contend for 16 slots of another pool which they hold for a moment, or for two seconds.
 * Each store has a thread, in the network of the thread that makes this; an auditor knows who relies on what. */
class PartitionLoad : Immovable
{
public:
    PartitionLoad(std::string const& url, std::chrono::milliseconds ttl);
    /** Ends it. */
    ~PartitionLoad();

    /** Whether all 50 are held by those that keep them, and valid beyond this instant (ns of CLOCK_BOOTTIME). */
    [[nodiscard]] bool all_valid_beyond(std::int64_t instant) const;
    [[nodiscard]] Observed observed() const;
    /** The same, and begins anew. */
    Observed take_observed();
    [[nodiscard]] Auditor const& audit() const noexcept { return audit_; }

private:
    struct Pool {
        SlotPool pool;
        /// of its slot 0, for the auditor
        std::uint32_t first_cell;
    };

    /** Empty: an error, after which a moment has passed. */
    asio::awaitable<Slot> acquire(Pool const& pool, std::chrono::milliseconds wait);
    asio::awaitable<void> keep(Pool pool);
    asio::awaitable<void> contend(Pool pool, std::chrono::milliseconds hold);
    asio::awaitable<void> wait_for_a_held_one(Pool pool);
    asio::awaitable<void> hold(Slot& slot, std::uint32_t cell, std::chrono::milliseconds time);
    void granted();
    void renewed(std::chrono::nanoseconds margin);
    void fired(Slot const& slot, std::int64_t told, std::int64_t began);

    ScratchDirectory directory_{ScratchDirectory::Place::memory};
    Auditor audit_;
    std::atomic<bool> stopped_ = false;
    std::atomic<int> under_way_ = 0;
    /// slots that `keep` holds
    std::atomic<std::uint32_t> kept_ = 0;
    mutable std::mutex mutex_;
    /// under the mutex
    Observed observed_;
    std::int64_t watched_since_;
    /// the first one holds, the others contend; last: its threads end first
    std::vector<std::unique_ptr<RunningStore>> stores_;
};

} // namespace tenure::test
