// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <chrono>

namespace tenure
{

/** The clock of every instant in this library: CLOCK_BOOTTIME, which continues while the machine is suspended.
 *
 *  It never jumps with the wall clock. It does stop while a virtual machine is paused from outside: only fencing tokens
 *  cover that case.
 *
 *  @par Thread safety  Safe from any thread.
 */
struct TENURE_API Clock {
    /// nanoseconds, signed, 64 bits
    using duration = std::chrono::nanoseconds;
    /// as the standard's clocks have it
    using rep = duration::rep;
    /// as the standard's clocks have it
    using period = duration::period;
    /// an instant of this clock; its origin is the boot of the machine
    using time_point = std::chrono::time_point<Clock, duration>;
    /// it is never adjusted
    static constexpr bool is_steady = true;

    /** The present instant. No I/O; some tens of nanoseconds. */
    [[nodiscard]] static time_point now() noexcept;
};

/** A local point in time. Instants of different machines or boots cannot be compared. */
using Instant = Clock::time_point;

} // namespace tenure
