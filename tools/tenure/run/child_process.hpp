// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/descriptor.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

class Inheritance;

/** What a command reads. */
enum class Input {
    /// as this program, with the terminal
    inherited,
    /// nothing: the command is one of several
    none
};

/** How a process ended. */
struct ExitStatus {
    /// its own exit code, or the signal that ended it
    int number = 0;
    bool signalled = false;

    /** The exit code as a shell shows it: the code, or 128 + the signal. */
    [[nodiscard]] int code() const noexcept { return signalled ? 128 + number : number; }
};

/** A command in a process group of its own, started behind a gate: the process exists, and can be told to others,
 * before the first instruction of the command runs.
 *
 *  The kernel kills it when the thread that started it ends. It stays a zombie, and its group's number taken, until
 * `reap`; so signals to the group can never reach a stranger.
 */
class ChildProcess
{
public:
    /** @param command  program, searched in PATH, and its arguments
     *  @param environment  `NAME=value` lines: all that the command gets
     *  @throws std::system_error */
    ChildProcess(
        std::vector<std::string> const& command, std::vector<std::string> const& environment,
        Inheritance const& inheritance, Input input = Input::inherited);
    ChildProcess(ChildProcess const&) = delete;
    ChildProcess& operator=(ChildProcess const&) = delete;
    /** Kills what is left of the group, and reaps. */
    ~ChildProcess();

    /** Of the process and of its group. */
    [[nodiscard]] pid_t id() const noexcept { return id_; }

    /** Lets the command start. */
    void open_gate() noexcept;

    void signal_group(int signal) const noexcept;

    /** Set once the process has ended; it is not reaped by this. */
    [[nodiscard]] std::optional<ExitStatus> ended() const noexcept;

    /** The signal that has stopped the process since the last call, if one has. */
    [[nodiscard]] std::optional<int> take_stop() const noexcept;

    /** Why the command could not be started (an errno), once the process has ended; 0 if it was started. */
    [[nodiscard]] int start_error() const noexcept;

    /** Waits for the end of the process. */
    void reap() noexcept;

private:
    pid_t id_ = -1;
    bool reaped_ = false;
    /// one byte through it lets the command start; closing it unwritten ends the process
    Descriptor gate_;
    /// the errno of a failed exec; end of file after a good one
    Descriptor start_error_;
};

} // namespace tenure::tool
