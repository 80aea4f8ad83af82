// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/report.hpp"
#include "run/child_process.hpp"
#include "run/command_lease.hpp"
#include "run/guard.hpp"
#include "run/terminal.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <optional>

namespace tenure::tool
{

namespace asio = boost::asio;

/** When a guard has to end a command that runs under these keys, should the keeper not do it. */
[[nodiscard]] GuardDeadlines deadlines(CommandLease const& held);

/** Supervises one command under its leases. Keeps the guard's deadlines in step with the leases', and ends the command
 * when the first lease can no longer be relied on. Completes when all processes of the command's group have ended.
 *
 *  It looks at everything a few times per ttl and whenever something happened, and does what is then to be done: no
 * event can be missed, only be seen at the next look.
 */
class Supervision
{
public:
    struct Result {
        ExitStatus status;
        /// the command was ended because a lease was lost, or because the guard had to assume so
        bool lost = false;
        /// why the command could not be started (an errno); 0 if it was
        int start_error = 0;
        /// the command had the terminal when it ended
        bool had_terminal = false;
    };

    /** Everything named here outlives this object; the guard watches the child, whose gate is open. */
    Supervision(
        asio::any_io_executor const& executor, CommandLease const& held, Guard& guard, ChildProcess& child,
        Terminal& terminal, Report const& report);

    /** Completes when the command and all it left in its group have ended; the child is reaped and the guard dismissed.
     *  Cancellation ends the command although its lease holds: `total` by SIGTERM, `terminal` by SIGKILL. */
    [[nodiscard]] asio::awaitable<Result> run();

    /** Passes a signal on to the command's group. */
    void forward(int signal);

    /** Something happened: a child changed its state, or the token was cancelled. */
    void wake();

private:
    void look(asio::cancellation_type cancelled);
    void follow_leases();
    void follow_cancellation(asio::cancellation_type cancelled);
    void follow_child();
    /** The command was stopped by this signal. */
    void suspend(int signal);
    void resume();
    /** Asks the group to end, and sets the instant at which it is killed. */
    void end_group(Instant kill_at);
    [[nodiscard]] std::chrono::nanoseconds until_next_look() const;

    CommandLease const& held_;
    Guard& guard_;
    ChildProcess& child_;
    Terminal& terminal_;
    Report const& report_;
    asio::steady_timer next_look_;
    /// from the leases as they were last seen while they held
    std::chrono::nanoseconds notice_{};
    Instant kill_at_{};
    /// set after SIGTERM to the group: the time of SIGKILL
    std::optional<Instant> end_by_;
    std::optional<ExitStatus> status_;
    /// the command has been stopped, and not yet continued from here
    bool stopped_ = false;
    bool lost_ = false;
    bool over_ = false;
};

} // namespace tenure::tool
