// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/detail/api.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tenure
{

/** How many leases were lost, by the reason of their token: `lost[CancelReason::expired]`. */
struct TENURE_API Losses {
    /// by `CancelReason`; zero for reasons that are no loss
    std::array<std::uint64_t, cancel_reasons> by_reason{};

    /** The losses with this reason. */
    [[nodiscard]] constexpr std::uint64_t& operator[](CancelReason reason) noexcept
    {
        return by_reason[static_cast<std::size_t>(reason)];
    }
    /** The losses with this reason. */
    [[nodiscard]] constexpr std::uint64_t operator[](CancelReason reason) const noexcept
    {
        return by_reason[static_cast<std::size_t>(reason)];
    }
    /** All losses. */
    [[nodiscard]] std::uint64_t total() const noexcept;

    /** Adds the losses of another name or store. */
    Losses& operator+=(Losses const& other) noexcept;
};

/** Counters since the store was opened, and the present numbers of leases and waiters. A snapshot: the fields may be
 * read at slightly different times. */
struct Statistics {
    /// acquisitions that ended with a lease
    std::uint64_t acquired = 0;
    /// acquisitions that ended because all keys were held (including single tries)
    std::uint64_t busy = 0;
    /// acquisitions that the caller cancelled
    std::uint64_t cancelled = 0;
    /// acquisitions that ended with any other error
    std::uint64_t failed = 0;
    /// total and longest time from the call to the grant; counted from the start of the call on the store's strand
    std::chrono::nanoseconds total_wait{};
    /// the longest of these times
    std::chrono::nanoseconds max_wait{};

    /// renewals that succeeded
    std::uint64_t renewals = 0;
    /// renewals that were refused, not sent or whose outcome is unknown
    std::uint64_t renewals_failed = 0;
    /// the least time between a successful renewal and the cancellation that it prevented; zero before the first
    /// renewal
    std::chrono::nanoseconds min_renewal_margin{};

    /// leases that were lost, by the reason of the token
    Losses lost;

    /// releases that the store confirmed
    std::uint64_t released = 0;
    /// detachments that the store confirmed (`Lease::async_detach`)
    std::uint64_t detached = 0;
    /// releases and detachments whose key had another owner already
    std::uint64_t released_not_owner = 0;
    /// grants that arrived after their acquisition had ended, or too late to be used, and were given back
    std::uint64_t given_back = 0;
    /// places of waiters that lapsed although this program runs: their requests did not arrive in time. Each of them
    /// went on at the end of the line. Of fair locks, read-write locks and semaphores
    std::uint64_t places_lost = 0;
    /// leases that were released only after their validity had ended
    std::uint64_t held_past_expiry = 0;

    /// events that `StoreOptions::on_event` did not take in time
    std::uint64_t events_dropped = 0;

    /// leases held now
    std::uint64_t held = 0;
    /// acquisitions waiting now
    std::uint64_t waiting = 0;
};

} // namespace tenure
