// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>

namespace tenure::engine
{

/** Counts the forks between the program's start and this process: what was made under another number belongs to a
 * parent, whose connections and leases a child must not touch. Thread-safe, and no system call. */
[[nodiscard]] std::uint64_t fork_generation() noexcept;

} // namespace tenure::engine
