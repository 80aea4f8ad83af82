// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/child_process.hpp"

#include "run/inheritance.hpp"
#include "run/processes.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace tenure::tool
{

namespace
{

/// exit code of a child whose parent died before the gate opened; no process reads it
constexpr int abandoned = 127;

std::vector<char*> pointers_to(std::vector<std::string> const& texts)
{
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (auto const& text : texts)
        result.push_back(const_cast<char*>(text.c_str())); // NOLINT: exec takes char* and changes nothing
    result.push_back(nullptr);
    return result;
}

/** All that the child needs, made before the fork: after it nothing may allocate. */
struct Preparation {
    pid_t parent = -1;
    std::vector<char*> arguments;
    std::vector<char*> environment;
    Inheritance const* inheritance = nullptr;
    int gate = -1;
    int gate_other_end = -1;
    int start_error = -1;
    Input input = Input::inherited;
};

[[noreturn]] void become_command(Preparation const& preparation) noexcept
{
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != preparation.parent)
        ::_exit(abandoned);
    preparation.inheritance->restore_signals();
    // this copy would keep the gate from closing when the parent ends
    ::close(preparation.gate_other_end);
    char go = 0;
    ssize_t got = 0;
    do
        got = ::read(preparation.gate, &go, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        ::_exit(abandoned);
    if (auto const nothing = preparation.input == Input::none ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
        nothing > 0)
        ::dup2(nothing, STDIN_FILENO);
    preparation.inheritance->restore_descriptors();
    environ = const_cast<char**>(preparation.environment.data());
    ::execvp(preparation.arguments[0], preparation.arguments.data());
    auto const error = errno;
    auto const written = ::write(preparation.start_error, &error, sizeof error);
    ::_exit(written < 0 || error == ENOENT ? 127 : 126);
}

} // namespace

ChildProcess::ChildProcess(
    std::vector<std::string> const& command, std::vector<std::string> const& environment,
    Inheritance const& inheritance, Input input)
{
    auto gate = make_pipe();
    auto start_error = make_pipe();
    auto const preparation =
        Preparation{::getpid(),         pointers_to(command), pointers_to(environment),   &inheritance,
                    gate.read.number(), gate.write.number(),  start_error.write.number(), input};
    // a signal that arrived in the child before its handlers are gone would be reported here
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): not before all is prepared
    id_ = ::fork();
    if (id_ == 0)
        become_command(preparation);
    auto const error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (id_ < 0)
        throw std::system_error(error, std::generic_category(), "cannot start a process for the command");
    add_own_child(id_);
    // both sides do it, so that the group exists for whichever goes on first
    ::setpgid(id_, id_);
    gate_ = std::move(gate.write);
    start_error_ = std::move(start_error.read);
}

ChildProcess::~ChildProcess()
{
    if (reaped_)
        return;
    signal_group(SIGKILL);
    reap();
}

void ChildProcess::open_gate() noexcept
{
    auto const go = char{1};
    static_cast<void>(!::write(gate_.number(), &go, 1));
    gate_.close();
}

void ChildProcess::signal_group(int signal) const noexcept
{
    if (!reaped_)
        static_cast<void>(::kill(-id_, signal));
}

std::optional<ExitStatus> ChildProcess::ended() const noexcept
{
    siginfo_t info = {};
    if (reaped_ || ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != id_)
        return std::nullopt;
    return ExitStatus{info.si_status, info.si_code != CLD_EXITED};
}

std::optional<int> ChildProcess::take_stop() const noexcept
{
    siginfo_t info = {};
    if (reaped_ || ::waitid(P_PID, static_cast<id_t>(id_), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != id_)
        return std::nullopt;
    return info.si_status;
}

int ChildProcess::start_error() const noexcept
{
    int error = 0;
    auto const got = ::read(start_error_.number(), &error, sizeof error);
    return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

void ChildProcess::reap() noexcept
{
    gate_.close();
    siginfo_t info = {};
    while (!reaped_ && ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    reaped_ = true;
    remove_own_child(id_);
}

} // namespace tenure::tool
