// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/guarded_command.hpp"

#include "command_line/exit_code.hpp"
#include "keys/holder.hpp"
#include "keys/key_look.hpp"
#include "keys/loop.hpp"
#include "run/child_process.hpp"
#include "run/processes.hpp"
#include "run/terminal.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;

/// limit of the query for the new holder of a lost key
constexpr milliseconds cause_limit{1'000};

/** Ends the guard before the child of the same scope is reaped, however the scope is left: from then on the group's
 * number may be a stranger's. */
class GuardDismissal
{
public:
    explicit GuardDismissal(Guard& guard) noexcept
        : guard_(guard)
    {
    }
    GuardDismissal(GuardDismissal const&) = delete;
    GuardDismissal& operator=(GuardDismissal const&) = delete;
    ~GuardDismissal() { guard_.dismiss(); }

private:
    Guard& guard_;
};

Interruption interruption_of(Supervision::Result const& result) noexcept
{
    if (!result.status.signalled || result.status.number != SIGINT)
        return Interruption::none;
    return result.had_terminal ? Interruption::of_command : Interruption::of_group;
}

} // namespace

GuardedCommand::GuardedCommand(
    Store const& store, Invocation const& invocation, Guard& guard, Report const& report, Input input)
    : store_(store)
    , invocation_(invocation)
    , guard_(guard)
    , report_(report)
    , input_(input)
{
}

asio::awaitable<GuardedCommand::Result>
GuardedCommand::run(CommandLease const& held, std::vector<std::string> environment)
{
    Terminal terminal(input_);
    ChildProcess child(invocation_.after_dashes, environment, invocation_.inheritance, input_);
    GuardDismissal const dismissal(guard_);
    if (!guard_.watch(child.id(), deadlines(held))) {
        report_.error("no guard process can be started: the command is not run");
        co_return Result{{system_failed}, false, true};
    }
    terminal.lend(child.id());
    // a process that was stopped until here must not start anything under a lease that has ended meanwhile; from
    // here on the guard would end it
    if (held.loss()) {
        report_.error("the lease on " + held.describe() + " was lost before the command could start");
        co_return Result{{lease_lost}, true};
    }
    child.open_gate();
    Supervision supervision(store_.get_executor(), held, guard_, child, terminal, report_);
    supervision_ = &supervision;
    current_ = std::make_shared<char>();
    watch_token(held);
    auto const result = co_await supervision.run();
    supervision_ = nullptr;
    current_.reset();
    // the orphans that ended after the command
    reap_orphans();
    while (looks_for_cause_)
        co_await pause_for(milliseconds{5});
    co_return result_of(result);
}

void GuardedCommand::on_signal(int signal)
{
    if (supervision_ == nullptr)
        reap_orphans();
    else if (signal == SIGCHLD)
        supervision_->wake();
    else
        supervision_->forward(signal);
}

/** The end of the token makes the supervision look at once. */
void GuardedCommand::watch_token(CommandLease const& held)
{
    held.token().async_wait([this, &held, run = std::weak_ptr(current_)](error_code error) {
        // a release cancels the token as well, when the command has ended
        if (error || run.expired())
            return;
        supervision_->wake();
        if (held.loss() == CancelReason::not_owner) {
            looks_for_cause_ = true;
            asio::co_spawn(store_.get_executor(), notify_cause(held.lost_key()), asio::detached);
        }
    });
}

/** Reports who evicted a lost key, or who holds it now. */
asio::awaitable<void> GuardedCommand::notify_cause(std::string key)
{
    auto const look = co_await look_at_lock(store_, key, cause_limit);
    if (!look.error)
        report_.error(describe_loss(key, look.states.front()));
    looks_for_cause_ = false;
}

GuardedCommand::Result GuardedCommand::result_of(Supervision::Result const& result) const
{
    if (result.start_error != 0) {
        report_.error("cannot run '" + invocation_.after_dashes.front() + "': " + std::strerror(result.start_error));
        return {{result.start_error == ENOENT ? not_found : not_executable}, false, true};
    }
    if (!result.lost)
        return {{result.status.code(), interruption_of(result)}, false};
    if (guard_.has_acted())
        report_.error("the guard ended the command: this process had been stopped, or was stuck");
    return {{lease_lost}, true};
}

int carry_out(Ending const& ending) noexcept
{
    if (ending.interruption == Interruption::none)
        return ending.code;
    std::signal(SIGINT, SIG_DFL);
    if (ending.interruption == Interruption::of_command)
        ::kill(0, SIGINT);
    // in this very thread, which must not go on to the exit code
    ::raise(SIGINT);
    return ending.code;
}

} // namespace tenure::tool
