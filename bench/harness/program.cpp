// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace bench
{

namespace
{

double seconds(timeval const& time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

pid_t spawn(std::vector<std::string> const& arguments, std::array<int, 2> const& ends)
{
    std::vector<char*> words;
    for (auto const& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t pid = -1;
    auto const error = ::posix_spawnp(&pid, words.front(), &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
        ::close(ends[0]);
        throw std::system_error(error, std::generic_category(), arguments.front());
    }
    return pid;
}

} // namespace

ProgramResult run_program(std::vector<std::string> const& arguments)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    auto const pid = spawn(arguments, ends);
    ProgramResult result;
    std::array<char, 4096> part{};
    for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) != 0;) {
        if (size > 0)
            result.output.append(part.data(), static_cast<std::size_t>(size));
        else if (errno != EINTR)
            break;
    }
    ::close(ends[0]);
    int status = 0;
    rusage usage{};
    while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error(arguments.front() + " failed:\n" + result.output);
    result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return result;
}

} // namespace bench
