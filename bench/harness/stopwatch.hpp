// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/resource.h>

#include <chrono>

namespace bench
{

/** Steady on one machine and the same in all its processes, which the hand-over needs. */
using Steady = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Steady::time_point begin)
{
    return std::chrono::duration<double>(Steady::now() - begin).count();
}

[[nodiscard]] inline double microseconds_since(Steady::time_point begin)
{
    return std::chrono::duration<double, std::micro>(Steady::now() - begin).count();
}

/** What this process has used of the processor so far, user and system together. */
[[nodiscard]] inline double cpu_seconds()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace bench
