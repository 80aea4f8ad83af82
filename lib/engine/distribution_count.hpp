// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/metrics.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tenure::engine
{

using Count = std::atomic<std::uint64_t>;

// Without a locked instruction: only the strand writes.
inline void add_one(Count& count) noexcept
{
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
inline void take_one(Count& count) noexcept
{
    count.store(count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

/** A `Distribution` that is being counted. Written on the strand, read from any thread. */
class DistributionCount
{
public:
    void add(std::chrono::nanoseconds duration) noexcept
    {
        add_one(buckets_[Distribution::bucket_of(duration)]);
        sum_.store(sum_.load(std::memory_order_relaxed) + duration.count(), std::memory_order_relaxed);
    }

    [[nodiscard]] Distribution snapshot() const noexcept
    {
        Distribution all;
        for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
            all.buckets[bucket] = buckets_[bucket].load(std::memory_order_relaxed);
        all.sum = std::chrono::nanoseconds(sum_.load(std::memory_order_relaxed));
        return all;
    }

private:
    std::array<Count, Distribution::bounded + 1> buckets_{};
    std::atomic<std::int64_t> sum_{0};
};

} // namespace tenure::engine
