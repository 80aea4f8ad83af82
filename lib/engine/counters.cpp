// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Counters: the snapshot for users.
#include "counters.hpp"

#include <algorithm>

namespace tenure::engine
{

void Counters::acquired_after(std::chrono::nanoseconds wait, NameCounters& name) noexcept
{
    name.waiting_time.add(wait);
    add_one(acquired);
    wait_total_.store(wait_total_.load(std::memory_order_relaxed) + wait.count(), std::memory_order_relaxed);
    wait_longest_.store(
        std::max(wait_longest_.load(std::memory_order_relaxed), wait.count()), std::memory_order_relaxed);
}

void Counters::renewed_with(std::chrono::nanoseconds margin, NameCounters& name) noexcept
{
    name.renewal_margin.add(margin);
    auto const least = margin_least_.load(std::memory_order_relaxed);
    if (renewals.load(std::memory_order_relaxed) == 0 || margin.count() < least)
        margin_least_.store(margin.count(), std::memory_order_relaxed);
    add_one(renewals);
}

void Counters::lost(CancelReason reason, NameCounters& name) noexcept
{
    lost_.add(reason);
    name.lost.add(reason);
}

Statistics Counters::snapshot() const noexcept
{
    constexpr auto relaxed = std::memory_order_relaxed;
    Statistics all;
    all.acquired = acquired.load(relaxed);
    all.busy = busy.load(relaxed);
    all.cancelled = cancelled.load(relaxed);
    all.failed = failed.load(relaxed);
    all.total_wait = std::chrono::nanoseconds(wait_total_.load(relaxed));
    all.max_wait = std::chrono::nanoseconds(wait_longest_.load(relaxed));
    all.renewals = renewals.load(relaxed);
    all.renewals_failed = renewals_failed.load(relaxed);
    all.min_renewal_margin = std::chrono::nanoseconds(margin_least_.load(relaxed));
    all.lost = lost_.snapshot();
    all.released = released.load(relaxed);
    all.detached = detached.load(relaxed);
    all.released_not_owner = released_not_owner.load(relaxed);
    all.given_back = given_back.load(relaxed);
    all.places_lost = places_lost.load(relaxed);
    all.held_past_expiry = held_past_expiry.load(relaxed);
    all.events_dropped = events_dropped.load(relaxed);
    all.held = held.load(relaxed);
    all.waiting = waiting.load(relaxed);
    return all;
}

StoreMetrics Counters::metrics() const
{
    return {snapshot(), names.snapshot(), requests.snapshot()};
}

} // namespace tenure::engine
