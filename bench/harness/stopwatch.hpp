// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>

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

/** The processor time that this process has used so far, user and system together. */
[[nodiscard]] inline double cpu_seconds()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/** The processor time that the first thread of another process has used so far; redis-server works in that thread.
 *  @throws std::runtime_error if the kernel does not tell */
[[nodiscard]] inline double cpu_seconds_of(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/schedstat"};
    double nanoseconds = 0;
    if (!(file >> nanoseconds))
        throw std::runtime_error("no schedstat of process " + std::to_string(process));
    return nanoseconds * 1e-9;
}

} // namespace bench
