// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

namespace tenure::tool
{

/** True while a process of the group runs; those that have ended and wait for their parent do not count. Where /proc
 * cannot be read it says false. */
[[nodiscard]] bool has_live_member(pid_t group);

/** True if no other process of this process' group runs. Where /proc cannot be read it says false. */
[[nodiscard]] bool is_alone_in_group();

/** The parent of a process; 0 if the process has gone. */
[[nodiscard]] pid_t parent_of(pid_t process);

/** The owner of this child reaps it: `reap_orphans` does not. */
void add_own_child(pid_t child);
/** It is reaped. */
void remove_own_child(pid_t child) noexcept;

/** Reaps orphans that have ended, where the kernel makes this process their parent: as PID 1 of a container, or as a
 * child subreaper. Elsewhere it does nothing. As soon as a child that has an owner has ended, the orphans behind it
 * stay for a later call. */
void reap_orphans() noexcept;

} // namespace tenure::tool
