// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"
#include "output/report.hpp"
#include "run/child_process.hpp"
#include "run/command_lease.hpp"
#include "run/guard.hpp"
#include "run/supervision.hpp"

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** Whether SIGINT, as ^C sends it, ended the command or the wait for its lease. */
enum class Interruption {
    none,
    /// the rest of this process' group has got the signal, if the terminal sent it
    of_group,
    /// the terminal was lent to the command, so ^C reached the command's group alone
    of_command
};

/** How the program ends. */
struct Ending {
    int code = 0;
    Interruption interruption = Interruption::none;
};

/** After an interruption, dies of SIGINT: a shell ends its script after a child that died of SIGINT, and goes on after
 * one that exited with any code. To be called when everything has been given back.
 *
 *  @return the exit code, if there was no interruption, or if the signal cannot end this process because it is PID 1 */
[[nodiscard]] int carry_out(Ending const& ending) noexcept;

/** A command that runs while keys are held, once or several times. It is gone before they can have another holder: the
 * guard watches it before it begins. */
class GuardedCommand
{
public:
    struct Result {
        /// how the program ends after it
        Ending ending;
        /// the keys were lost, and the command was ended for it, or not even begun
        bool lost = false;
        /// no process, or no guard, could be started, or the command cannot be executed
        bool failed = false;
    };

    /** Everything named here outlives this object.
     *  @param input  whether the command may have the terminal */
    GuardedCommand(
        Store const& store, Invocation const& invocation, Guard& guard, Report const& report,
        Input input = Input::inherited);

    /** Runs the command to its end, and ends what it left behind. Nothing of its group runs afterwards.
     *  @param environment  `NAME=value` lines: all that the command gets */
    [[nodiscard]] asio::awaitable<Result> run(CommandLease const& held, std::vector<std::string> environment);

    /** True while there is something to pass signals on to. */
    [[nodiscard]] bool running() const noexcept { return supervision_ != nullptr; }
    /** The program got this signal while the command runs; or SIGCHLD at any time, for a daemon that an earlier command
     * has left. */
    void on_signal(int signal);

private:
    void watch_token(CommandLease const& held);
    [[nodiscard]] asio::awaitable<void> notify_cause(std::string key);
    [[nodiscard]] Result result_of(Supervision::Result const& result) const;

    Store const& store_;
    Invocation const& invocation_;
    Guard& guard_;
    Report const& report_;
    Input input_;
    /// while the command runs
    Supervision* supervision_ = nullptr;
    /// one for each run: the token of an earlier run may be cancelled later
    std::shared_ptr<void const> current_;
    /// the store is being asked what has become of a lost key
    bool looks_for_cause_ = false;
};

} // namespace tenure::tool
