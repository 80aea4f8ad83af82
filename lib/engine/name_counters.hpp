// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "distribution_count.hpp"

#include <tenure/cancellation_token.hpp>
#include <tenure/key_range.hpp>
#include <tenure/metrics.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenure::engine
{

/** Losses by reason. Written on the strand, read from any thread. */
class LossCounts
{
public:
    void add(CancelReason reason) noexcept;

    /** To `Statistics` or `NameMetrics`, whose fields have the same names. */
    template <class Target>
    void copy_to(Target& target) const noexcept
    {
        target.lost_expired = expired_.load(std::memory_order_relaxed);
        target.lost_not_owner = not_owner_.load(std::memory_order_relaxed);
        target.lost_first_failed_renewal = first_failed_renewal_.load(std::memory_order_relaxed);
        target.lost_max_hold = max_hold_.load(std::memory_order_relaxed);
        target.lost_store_closed = store_closed_.load(std::memory_order_relaxed);
    }

private:
    Count expired_{0};
    Count not_owner_{0};
    Count first_failed_renewal_{0};
    Count max_hold_{0};
    Count store_closed_{0};
};

/** The counts behind `NameMetrics`. Written on the strand, read from any thread. */
struct NameCounters {
    Count held{0};
    Count waiting{0};
    Count busy{0};
    Count cancelled{0};
    Count failed{0};
    LossCounts lost;
    DistributionCount waiting_time;
    DistributionCount holding_time;
    DistributionCount hand_over;
    DistributionCount renewal_margin;
    /// written by the thread that makes a lock or pool
    std::atomic<std::chrono::milliseconds::rep> ttl{0};

    void copy_to(NameMetrics& metrics) const noexcept;
};

/** The locks and pools of a store by name. Names never leave it, because a counter must not go back. */
class NameTable
{
public:
    /** Names a `NameCounters`; one byte, because each lease has one. */
    using Index = std::uint8_t;

    /** Where the leases of a lock or pool are counted. From any thread. */
    [[nodiscard]] Index find_or_make(KeyRange const& range, std::chrono::milliseconds ttl);

    /** @param index  from `find_or_make` */
    [[nodiscard]] NameCounters& at(Index index) noexcept { return *counters_[index]; }

    /** From any thread. */
    [[nodiscard]] std::vector<NameMetrics> snapshot() const;

private:
    /// counts all names that have no counters of their own
    static constexpr Index other = StoreMetrics::most_names;

    /// guards everything but the counters that an index was given out for
    mutable std::mutex mutex_;
    /// by kind, and by key or prefix
    std::map<std::pair<NameMetrics::Kind, std::string>, Index> indices_;
    std::array<std::unique_ptr<NameCounters>, StoreMetrics::most_names + 1> counters_;
};

} // namespace tenure::engine
