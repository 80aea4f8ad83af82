// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Detection of forks.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenure::engine
{

/// counted in the child, by a handler that is installed at the program's start
extern std::atomic<std::uint64_t> forks;

/** Counts the forks from the program's start to this process. An object made under another number belongs to a parent,
 *  whose connections and leases a child must not touch. Thread-safe, without a system call. */
[[nodiscard]] inline std::uint64_t fork_generation() noexcept
{
    return forks.load(std::memory_order_relaxed);
}

} // namespace tenure::engine
