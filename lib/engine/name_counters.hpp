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

/** The counts behind `Losses`. Written on the strand, read from any thread. */
class LossCounts
{
public:
    void add(CancelReason reason) noexcept
    {
        if (is_loss(reason))
            add_one(counts_[static_cast<std::size_t>(reason)]);
    }

    [[nodiscard]] Losses snapshot() const noexcept;

private:
    std::array<Count, cancel_reasons> counts_{};
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
