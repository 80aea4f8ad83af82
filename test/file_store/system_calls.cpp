// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// System calls that tell a hook of their thread before they are made. The linker prefers them to those of the C
// library.
#include "system_calls.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>

namespace tenure::test
{

namespace
{

thread_local PointHook current_hook;
std::atomic<long> wall_clock_offset = 0;

} // namespace

PointHook raise_before_change(int nth, int signal)
{
    return [changes = 0, nth, signal](Point point) mutable {
        if (point == Point::change && ++changes == nth)
            ::raise(signal);
    };
}

AtPoints::AtPoints(PointHook hook)
{
    current_hook = std::move(hook);
}

AtPoints::~AtPoints()
{
    current_hook = nullptr;
}

void move_wall_clock(std::chrono::seconds offset)
{
    wall_clock_offset = offset.count();
}

long moved_seconds()
{
    return wall_clock_offset;
}

void reach(Point point)
{
    if (current_hook)
        current_hook(point);
}

} // namespace tenure::test

using tenure::test::Point;
using tenure::test::reach;

extern "C" {

ssize_t pread(int file, void* to, size_t bytes, off_t offset)
{
    reach(Point::read);
    return ::syscall(SYS_pread64, file, to, bytes, offset);
}

ssize_t pwrite(int file, void const* from, size_t bytes, off_t offset)
{
    reach(Point::change);
    return ::syscall(SYS_pwrite64, file, from, bytes, offset);
}

int unlinkat(int folder, char const* name, int flags) noexcept
{
    reach(Point::change);
    return static_cast<int>(::syscall(SYS_unlinkat, folder, name, flags));
}

int linkat(int from_folder, char const* from, int to_folder, char const* to, int flags) noexcept
{
    reach(Point::change);
    return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

int clock_gettime(clockid_t clock, timespec* time) noexcept
{
    auto const result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
    if (clock == CLOCK_REALTIME)
        time->tv_sec += tenure::test::moved_seconds();
    return result;
}

int mkfifoat(int folder, char const* name, mode_t mode) noexcept
{
    reach(Point::change);
    return static_cast<int>(::syscall(SYS_mknodat, folder, name, mode | S_IFIFO, 0));
}
}
