// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Counters: the snapshot for users.
#include "counters.hpp"

#include <algorithm>

namespace tenure::engine
{

void Counters::acquired_after(std::chrono::nanoseconds wait) noexcept
{
    add_one(acquired);
    wait_total_.store(wait_total_.load(std::memory_order_relaxed) + wait.count(), std::memory_order_relaxed);
    wait_longest_.store(
        std::max(wait_longest_.load(std::memory_order_relaxed), wait.count()), std::memory_order_relaxed);
}

void Counters::renewed_with(std::chrono::nanoseconds margin) noexcept
{
    auto const least = margin_least_.load(std::memory_order_relaxed);
    if (renewals.load(std::memory_order_relaxed) == 0 || margin.count() < least)
        margin_least_.store(margin.count(), std::memory_order_relaxed);
    add_one(renewals);
}

void Counters::lost(CancelReason reason) noexcept
{
    switch (reason) {
    case CancelReason::none:
    case CancelReason::released:
    case CancelReason::detached:
        break;
    case CancelReason::expired:
        add_one(lost_expired_);
        break;
    case CancelReason::not_owner:
        add_one(lost_proven_);
        break;
    case CancelReason::first_failed_renewal:
        add_one(lost_first_failed_renewal_);
        break;
    case CancelReason::max_hold:
        add_one(lost_max_hold_);
        break;
    case CancelReason::store_closed:
        add_one(lost_store_closed_);
        break;
    }
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
    all.lost_expired = lost_expired_.load(relaxed);
    all.lost_not_owner = lost_proven_.load(relaxed);
    all.lost_first_failed_renewal = lost_first_failed_renewal_.load(relaxed);
    all.lost_max_hold = lost_max_hold_.load(relaxed);
    all.lost_store_closed = lost_store_closed_.load(relaxed);
    all.released = released.load(relaxed);
    all.detached = detached.load(relaxed);
    all.released_not_owner = released_not_owner.load(relaxed);
    all.given_back = given_back.load(relaxed);
    all.held_past_expiry = held_past_expiry.load(relaxed);
    all.held = held.load(relaxed);
    all.waiting = waiting.load(relaxed);
    return all;
}

} // namespace tenure::engine
