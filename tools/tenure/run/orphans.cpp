// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/orphans.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::tool
{

namespace
{

bool adopts_orphans() noexcept
{
    int is_subreaper = 0;
    return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

} // namespace

void reap_orphans(pid_t command, pid_t guard) noexcept
{
    if (!adopts_orphans())
        return;
    for (;;) {
        siginfo_t info = {};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || info.si_pid == command ||
            info.si_pid == guard)
            return;
        if (::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG) != 0)
            return;
    }
}

} // namespace tenure::tool
