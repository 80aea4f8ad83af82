// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

/** The words as `exec` takes them. They must not change meanwhile. */
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words);

/** The command line and environment of a child process. */
struct Command {
    /// program (looked up in PATH if it has no slash) and its arguments
    std::vector<std::string> arguments;
    /// added to this process's environment
    std::vector<std::pair<std::string, std::string>> environment = {};
    /// file that gets standard output and standard error, appended; empty: inherited
    std::string output = {};
};

/** How a child ended. */
struct ExitStatus {
    /// exit code, or -1 if a signal ended it
    int code = -1;
    /// the signal that ended it, or 0
    int signal = 0;

    friend bool operator==(ExitStatus const&, ExitStatus const&) = default;
    /** For the reports of failed tests. */
    friend std::ostream& operator<<(std::ostream& out, ExitStatus const& status);
};

/** A child process of the test. It is killed when the object goes, and by the kernel when the thread that started it
 * ends, so that nothing is left over when a test crashes. */
class ChildProcess
{
public:
    /** Starts it. @throws std::system_error if the program cannot be executed */
    explicit ChildProcess(Command const& command);
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;
    ChildProcess(ChildProcess const&) = delete;
    ChildProcess& operator=(ChildProcess const&) = delete;
    ~ChildProcess();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /** False once it has ended, however that came. */
    [[nodiscard]] bool running();

    /** Sends a signal, if it still runs. */
    void signal(int number);

    /** SIGSTOP, and waits until all of its threads have stopped. */
    void pause();
    void resume();

    /** Waits for its end; empty if it still runs after `limit`. */
    std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit);

    /** SIGKILL, and waits for its end. */
    ExitStatus kill();

private:
    void reap(int raw_status) noexcept;

    /// 0: moved from
    pid_t pid_ = 0;
    int pidfd_ = -1;
    /// set once it was waited for
    std::optional<ExitStatus> ended_;
};

/** Where a program lies: the path itself if it has a slash, else what PATH says; empty if there is none. */
[[nodiscard]] std::string find_program(std::string const& name);

/** The state letter of /proc/<pid>/stat ('R', 'S', 'T', 'Z' ...) and the instant the process started, in clock ticks
 * since boot; empty if there is no such process. */
struct ProcessState {
    char state;
    unsigned long long started;
};
[[nodiscard]] std::optional<ProcessState> process_state(pid_t pid);

} // namespace tenure::test
