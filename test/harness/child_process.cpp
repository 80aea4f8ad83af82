// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/child_process.hpp"

#include "harness/eventually.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace tenure::test
{

namespace
{

[[noreturn]] void fail(char const* what, int error = errno)
{
    throw std::system_error(error, std::generic_category(), what);
}

std::vector<std::string> merged_environment(Command const& command)
{
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string_view const present{*entry};
        auto const name = present.substr(0, present.find('='));
        bool replaced = false;
        for (auto const& [added, value] : command.environment)
            replaced = replaced || added == name;
        if (!replaced)
            result.emplace_back(present);
    }
    for (auto const& [name, value] : command.environment)
        result.push_back(name + "=" + value);
    return result;
}

ExitStatus exit_status(int raw) noexcept
{
    if (WIFSIGNALED(raw))
        return {-1, WTERMSIG(raw)};
    return {WEXITSTATUS(raw), 0};
}

/** SIGSTOP reaches the threads of a process one by one. */
bool all_threads_stopped(pid_t pid)
{
    for (auto const& thread : std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task"}) {
        std::ifstream file{thread.path() / "stat"};
        std::string line;
        std::getline(file, line);
        auto const name_end = line.rfind(')');
        if (name_end == std::string::npos || line.at(name_end + 2) != 'T')
            return false;
    }
    return true;
}

} // namespace

std::vector<char*> pointers_to(std::vector<std::string>& words)
{
    std::vector<char*> result;
    for (auto& word : words)
        result.push_back(word.data());
    result.push_back(nullptr);
    return result;
}

std::ostream& operator<<(std::ostream& out, ExitStatus const& status)
{
    if (status.signal != 0)
        return out << "ended by signal " << status.signal;
    return out << (status.code < 0 ? "still running" : "exit code " + std::to_string(status.code));
}

ChildProcess::ChildProcess(Command const& command)
{
    auto const program = find_program(command.arguments.at(0));
    if (program.empty())
        fail(command.arguments[0].c_str(), ENOENT);

    // Everything that allocates comes before the fork: other threads may hold the allocator's locks.
    auto arguments = command.arguments;
    auto environment = merged_environment(command);
    auto const argv = pointers_to(arguments);
    auto const envp = pointers_to(environment);
    int exec_failed[2];
    if (::pipe2(exec_failed, O_CLOEXEC) != 0)
        fail("pipe2");
    int output = -1;
    if (!command.output.empty()) {
        output = ::open(command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (output < 0)
            fail(command.output.c_str());
    }
    auto const parent = ::getpid();

    pid_ = ::fork();
    if (pid_ < 0)
        fail("fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(127);
        ::signal(SIGPIPE, SIG_DFL);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        if (output >= 0) {
            ::dup2(output, STDOUT_FILENO);
            ::dup2(output, STDERR_FILENO);
        }
        ::execve(program.c_str(), argv.data(), envp.data());
        int const error = errno;
        auto const ignored = ::write(exec_failed[1], &error, sizeof error);
        static_cast<void>(ignored);
        ::_exit(127);
    }
    ::close(exec_failed[1]);
    if (output >= 0)
        ::close(output);
    int error = 0;
    auto const got = ::read(exec_failed[0], &error, sizeof error);
    ::close(exec_failed[0]);
    if (got > 0) {
        ::waitpid(pid_, nullptr, 0);
        fail(program.c_str(), error);
    }
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd_ < 0)
        fail("pidfd_open");
    ::fcntl(pidfd_, F_SETFD, FD_CLOEXEC);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0))
    , pidfd_(std::exchange(other.pidfd_, -1))
    , ended_(other.ended_)
{
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept
{
    std::swap(pid_, other.pid_);
    std::swap(pidfd_, other.pidfd_);
    std::swap(ended_, other.ended_);
    return *this;
}

ChildProcess::~ChildProcess()
{
    if (pid_ == 0)
        return;
    kill();
    ::close(pidfd_);
}

bool ChildProcess::running()
{
    return !wait_for(std::chrono::milliseconds{0});
}

void ChildProcess::signal(int number)
{
    // It is not reaped while ended_ is empty, so that the id cannot have passed to another process.
    if (pid_ != 0 && !ended_ && ::kill(pid_, number) != 0 && errno != ESRCH)
        fail("kill");
}

void ChildProcess::pause()
{
    signal(SIGSTOP);
    if (!eventually([this] { return all_threads_stopped(pid_); }))
        throw std::runtime_error("the process did not stop");
}

void ChildProcess::resume()
{
    signal(SIGCONT);
}

std::optional<ExitStatus> ChildProcess::wait_for(std::chrono::milliseconds limit)
{
    if (ended_)
        return ended_;
    if (pid_ == 0)
        throw std::logic_error("no child process");
    auto const deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        auto const left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        pollfd ready{pidfd_, POLLIN, 0};
        if (::poll(&ready, 1, static_cast<int>(std::max<long>(left, 0))) > 0)
            break;
        if (left <= 0)
            return std::nullopt;
    }
    int raw = 0;
    if (::waitpid(pid_, &raw, 0) != pid_)
        fail("waitpid");
    reap(raw);
    return ended_;
}

ExitStatus ChildProcess::kill()
{
    if (ended_)
        return *ended_;
    ::kill(pid_, SIGKILL);
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
    }
    reap(raw);
    return *ended_;
}

void ChildProcess::reap(int raw_status) noexcept
{
    ended_ = exit_status(raw_status);
}

std::string find_program(std::string const& name)
{
    if (name.find('/') != std::string::npos)
        return ::access(name.c_str(), X_OK) == 0 ? name : std::string{};
    char const* const path = std::getenv("PATH");
    std::istringstream folders{path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"};
    for (std::string folder; std::getline(folders, folder, ':');) {
        auto candidate = folder + "/" + name;
        if (::access(candidate.c_str(), X_OK) == 0)
            return candidate;
    }
    return {};
}

std::optional<ProcessState> process_state(pid_t pid)
{
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    std::string line;
    if (!std::getline(file, line))
        return std::nullopt;
    // The name in brackets may hold anything; what follows the last bracket does not.
    std::istringstream fields{line.substr(line.rfind(')') + 2)};
    ProcessState result{};
    fields >> result.state;
    std::string skipped;
    for (int field = 4; field <= 21; ++field)
        fields >> skipped;
    fields >> result.started;
    return result;
}

} // namespace tenure::test
