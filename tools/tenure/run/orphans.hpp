// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

namespace tenure::tool
{

/** Reaps orphans that have ended, where the kernel makes this process their parent: as PID 1 of a container, or as a
 * child subreaper. Elsewhere it does nothing.
 *
 *  @param command, guard  these are reaped by others: as soon as one of them has ended, the orphans behind it stay for
 * a later call; -1: none */
void reap_orphans(pid_t command, pid_t guard) noexcept;

} // namespace tenure::tool
