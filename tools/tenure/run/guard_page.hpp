// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenure::tool
{

/** The shared state of keeper and guard: one page of memory, mapped before the guard is forked. The keeper writes, the
 * guard reads whenever it wakes; so a keeper that has stopped has still said everything.
 *
 *  Instants are nanoseconds of CLOCK_BOOTTIME, as everywhere in tenure.
 */
struct GuardPage {
    enum Side : std::uint32_t { nobody = 0, keeper = 1, guard = 2 };

    /// the process group to end; 0 while there is none
    std::atomic<std::int32_t> group{0};
    /// from when the guard asks the group to end, if the keeper has not
    std::atomic<std::int64_t> terminate_at{0};
    /// from when the guard kills the group
    std::atomic<std::int64_t> kill_at{0};
    /// the process that has sent SIGTERM to the group: exactly one of the two does
    std::atomic<std::uint32_t> terminated_by{nobody};
    /// set once the guard has killed the group
    std::atomic<bool> killed_by_guard{false};
};

/// how many descriptors a guard keeps: two of each store in a directory
inline constexpr std::size_t most_handed_over = 8;

static_assert(
    std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
    "shared between processes");

/** The life of a guard: ends with the process, when the keeper's end of the channel closes.
 *
 *  Runs in a forked child of a program that may have threads: it makes system calls, and nothing else until the keeper
 * has gone. */
[[noreturn]] void stand_guard(GuardPage& page, int channel) noexcept;

} // namespace tenure::tool
