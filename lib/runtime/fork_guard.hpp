// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Detection of forks, and what holds them up.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace tenure
{

/// counted in the child, by a handler that is installed at the program's start
extern std::atomic<std::uint64_t> forks;

/** Counts the forks from the program's start to this process. An object made under another number belongs to a parent,
 *  whose connections and leases a child must not touch. Thread-safe, without a system call. */
[[nodiscard]] inline std::uint64_t fork_generation() noexcept
{
    return forks.load(std::memory_order_relaxed);
}

/** Belongs to an object that a child of fork must not touch. */
class ForkMark
{
public:
    /** True in a child of the process that made the object. Thread-safe, without a system call. */
    [[nodiscard]] bool forked() const noexcept { return generation_ != fork_generation(); }

private:
    std::uint64_t generation_ = fork_generation();
};

/** While this lock exists, forks of other threads wait. Hold it where a thread of the library takes a mutex of the
 *  user's executor: in a child without that thread the mutex would stay locked. Only around calls that neither wait nor
 *  run user code, and once per thread. */
[[nodiscard]] std::shared_lock<std::shared_mutex> hold_forks();

} // namespace tenure
