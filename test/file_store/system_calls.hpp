// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <functional>

namespace tenure::test
{

/** A point at which a test may stop a thread, or end its process. */
enum class Point {
    /// before a write, and before a file gets a name or loses it
    change,
    /// before a read of a file
    read,
    /// before the clock is read
    clock
};
/** Called at each point, on the thread that comes there. */
using PointHook = std::function<void(Point)>;
/** Raises a signal before the nth change. */
[[nodiscard]] PointHook raise_before_change(int nth, int signal);

/** Sets the hook of this thread for as long as it lives. This program defines the system calls of the library itself
 *  (`pread`, `pwrite`, `linkat`, `unlinkat`, `mkfifoat`, `clock_gettime`). */
class AtPoints
{
public:
    explicit AtPoints(PointHook hook);
    AtPoints(AtPoints const&) = delete;
    AtPoints& operator=(AtPoints const&) = delete;
    ~AtPoints();
};

/** Moves the wall clock of this process; 0: as the machine's. */
void move_wall_clock(std::chrono::seconds offset);

/** Calls the hook of this thread, if it has one. */
void reach(Point point);

} // namespace tenure::test
