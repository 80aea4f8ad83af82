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
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Clock, duration>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept;
};

/** A local point in time. Instants of different machines or boots cannot be compared. */
using Instant = Clock::time_point;

} // namespace tenure
