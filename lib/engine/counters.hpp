// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/statistics.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tenure::engine
{

/** The counts behind `Statistics`. Written on the strand, read from any thread. */
class Counters
{
public:
    using Count = std::atomic<std::uint64_t>;

    void acquired_after(std::chrono::nanoseconds wait) noexcept;
    void renewed_with(std::chrono::nanoseconds margin) noexcept;
    void lost(CancelReason reason) noexcept;

    [[nodiscard]] Statistics snapshot() const noexcept;

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
    Count held_past_expiry{0};
    Count held{0};
    Count waiting{0};

private:
    std::atomic<std::int64_t> wait_total_{0};
    std::atomic<std::int64_t> wait_longest_{0};
    std::atomic<std::int64_t> margin_least_{0};
    Count lost_expired_{0};
    Count lost_proven_{0};
    Count lost_first_failed_renewal_{0};
    Count lost_max_hold_{0};
    Count lost_store_closed_{0};
};

// Without a locked instruction: only the strand writes.
inline void add_one(Counters::Count& count) noexcept
{
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
inline void take_one(Counters::Count& count) noexcept
{
    count.store(count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

} // namespace tenure::engine
