// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "distribution_count.hpp"
#include "name_counters.hpp"
#include "request_counters.hpp"

#include <tenure/cancellation_token.hpp>
#include <tenure/metrics.hpp>
#include <tenure/statistics.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tenure::engine
{

/** The counts behind `Statistics` and `StoreMetrics`. Written on the strand, read from any thread. */
class Counters
{
public:
    void acquired_after(std::chrono::nanoseconds wait, NameCounters& name) noexcept;
    void renewed_with(std::chrono::nanoseconds margin, NameCounters& name) noexcept;
    void lost(CancelReason reason, NameCounters& name) noexcept;

    [[nodiscard]] Statistics snapshot() const noexcept;
    [[nodiscard]] StoreMetrics metrics() const;

    /// by lock and pool
    NameTable names;
    RequestCounters requests;

    Count acquired{0};
    Count busy{0};
    Count cancelled{0};
    Count failed{0};
    Count renewals{0};
    Count renewals_failed{0};
    Count released{0};
    Count detached{0};
    Count released_not_owner{0};
    Count given_back{0};
    Count places_lost{0};
    Count held_past_expiry{0};
    Count events_dropped{0};
    Count held{0};
    Count waiting{0};

private:
    std::atomic<std::int64_t> wait_total_{0};
    std::atomic<std::int64_t> wait_longest_{0};
    std::atomic<std::int64_t> margin_least_{0};
    LossCounts lost_;
};

} // namespace tenure::engine
