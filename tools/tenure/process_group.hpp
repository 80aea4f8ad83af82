// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

namespace tenure::tool
{

/** True while a process of the group runs; those that have ended and wait for their parent do not count. Where /proc
 * cannot be read it says false. */
[[nodiscard]] bool has_live_member(pid_t group);

} // namespace tenure::tool
