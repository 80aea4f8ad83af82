// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Clock: CLOCK_BOOTTIME.
#include <tenure/clock.hpp>

#include <ctime>

namespace tenure
{

Instant Clock::now() noexcept
{
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

} // namespace tenure
