// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace tenure::tool
{

namespace
{

/** The beginning of /proc/ID/stat after the name in parentheses, which may hold anything; empty if it has gone. */
std::string status_line(char const* id)
{
    auto const path = "/proc/" + std::string(id) + "/stat";
    auto const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return {};
    std::array<char, 1024> text; // NOLINT: filled by read
    auto const size = ::read(file, text.data(), text.size());
    ::close(file);
    if (size <= 0)
        return {};
    auto const line = std::string(text.data(), static_cast<std::size_t>(size));
    auto const name_ends = line.rfind(')');
    return name_ends == std::string::npos ? std::string{} : line.substr(name_ends + 1);
}

bool lives_in(pid_t group, std::string const& line)
{
    char state = 0;
    int line_group = 0;
    long threads = 0;
    // state, parent, group, then thirteen fields (session to cutime, cstime, priority, nice), then the threads
    auto const fields = std::sscanf(
        line.c_str(), " %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state, &line_group,
        &threads);
    if (fields < 2 || line_group != group)
        return false;
    // a first thread that has ended looks like a zombie while other threads run
    return (state != 'Z' && state != 'X') || threads > 1;
}

/** True if a process of the group other than `except` runs; empty if /proc cannot be read. */
std::optional<bool> runs_in(pid_t group, pid_t except)
{
    auto const directory = std::unique_ptr<DIR, int (*)(DIR*)>(::opendir("/proc"), ::closedir);
    if (!directory)
        return std::nullopt;
    while (auto const* const entry = ::readdir(directory.get())) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0 && std::atoi(entry->d_name) != except &&
            lives_in(group, status_line(entry->d_name)))
            return true;
    }
    return false;
}

/** Commands and guards. */
std::set<pid_t>& own_children()
{
    static std::set<pid_t> children;
    return children;
}

bool adopts_orphans() noexcept
{
    int is_subreaper = 0;
    return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

} // namespace

bool has_live_member(pid_t group)
{
    return runs_in(group, 0).value_or(false);
}

bool is_alone_in_group()
{
    return !runs_in(::getpgrp(), ::getpid()).value_or(true);
}

pid_t parent_of(pid_t process)
{
    pid_t parent = 0;
    auto const line = status_line(std::to_string(process).c_str());
    return std::sscanf(line.c_str(), " %*c %d", &parent) == 1 ? parent : 0;
}

void add_own_child(pid_t child)
{
    own_children().insert(child);
}

void remove_own_child(pid_t child) noexcept
{
    own_children().erase(child);
}

void reap_orphans() noexcept
{
    if (!adopts_orphans())
        return;
    for (;;) {
        siginfo_t info = {};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            own_children().contains(info.si_pid))
            return;
        if (::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG) != 0)
            return;
    }
}

} // namespace tenure::tool
