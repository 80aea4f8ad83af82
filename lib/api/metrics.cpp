// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenure
{

std::uint64_t Distribution::count() const noexcept
{
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

std::chrono::microseconds Distribution::quantile(double part) const noexcept
{
    auto const all = count();
    if (all == 0)
        return {};
    auto const wanted = std::max(1.0, std::ceil(part * static_cast<double>(all)));
    std::uint64_t below = 0;
    for (std::size_t bucket = 0; bucket < bounded; ++bucket) {
        below += buckets[bucket];
        if (static_cast<double>(below) >= wanted)
            return bound(bucket);
    }
    return bound(bounded - 1);
}

Distribution& Distribution::operator+=(Distribution const& other) noexcept
{
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
        buckets[bucket] += other.buckets[bucket];
    sum += other.sum;
    return *this;
}

std::uint64_t Losses::total() const noexcept
{
    return std::accumulate(by_reason.begin(), by_reason.end(), std::uint64_t{0});
}

Losses& Losses::operator+=(Losses const& other) noexcept
{
    for (std::size_t reason = 0; reason < by_reason.size(); ++reason)
        by_reason[reason] += other.by_reason[reason];
    return *this;
}

NameMetrics& NameMetrics::operator+=(NameMetrics const& other) noexcept
{
    ttl = std::max(ttl, other.ttl);
    held += other.held;
    waiting += other.waiting;
    busy += other.busy;
    cancelled += other.cancelled;
    failed += other.failed;
    lost += other.lost;
    waiting_time += other.waiting_time;
    holding_time += other.holding_time;
    hand_over += other.hand_over;
    renewal_margin += other.renewal_margin;
    return *this;
}

RequestMetrics& RequestMetrics::operator+=(RequestMetrics const& other) noexcept
{
    for (std::size_t outcome = 0; outcome < by_outcome.size(); ++outcome)
        by_outcome[outcome] += other.by_outcome[outcome];
    round_trip += other.round_trip;
    return *this;
}

} // namespace tenure
