// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>

namespace tenure
{

/** Counts since the store was opened, and what is held now. A snapshot: fields may be a moment apart. */
struct Statistics {
    /// acquisitions that ended with a lease
    std::uint64_t acquired = 0;
    /// acquisitions that ended because all keys stayed held (including tries that found none free)
    std::uint64_t busy = 0;
    /// acquisitions that the caller cancelled
    std::uint64_t cancelled = 0;
    /// acquisitions that ended with any other error
    std::uint64_t failed = 0;
    /// total and longest time from the call to the grant; it counts from when the store's strand takes the call up
    std::chrono::nanoseconds total_wait{};
    std::chrono::nanoseconds max_wait{};

    std::uint64_t renewals = 0;
    /// renewals that were refused, not sent or whose outcome is unknown
    std::uint64_t renewals_failed = 0;
    /// least time that was left until the token would have been cancelled when a renewal succeeded; zero before the
    /// first renewal
    std::chrono::nanoseconds min_renewal_margin{};

    /// leases that were lost, by the reason of the token (`CancelReason`)
    std::uint64_t lost_expired = 0;
    std::uint64_t lost_not_owner = 0;
    std::uint64_t lost_first_failed_renewal = 0;
    std::uint64_t lost_max_hold = 0;
    std::uint64_t lost_store_closed = 0;

    std::uint64_t released = 0;
    /// leases whose keys the store confirmed to keep (`Lease::async_detach`)
    std::uint64_t detached = 0;
    /// releases and detachments that found the key no longer theirs
    std::uint64_t released_not_owner = 0;
    /// grants that arrived after their acquisition had ended, or too late to be used, and were given back
    std::uint64_t given_back = 0;
    /// leases that were released only after their validity had ended
    std::uint64_t held_past_expiry = 0;

    /// leases held now
    std::uint64_t held = 0;
    /// acquisitions waiting now
    std::uint64_t waiting = 0;
};

} // namespace tenure
