// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/supervision.hpp"

#include "keys/loop.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"
#include "run/processes.hpp"

#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds most_between_looks = milliseconds{100};
constexpr nanoseconds least_between_looks = milliseconds{5};
/// poll interval for the end of processes that are not children of this process
constexpr nanoseconds between_looks_at_remains = milliseconds{10};
constexpr nanoseconds least_kill_margin = milliseconds{10};

/** How long before the end of validity the command is killed: dying takes time too. */
nanoseconds kill_margin(nanoseconds notice)
{
    return std::max(least_kill_margin, notice / 4);
}

/** True if a shell of this session has started this process' group as a job. */
bool shell_can_continue_us()
{
    auto parent = ::getppid();
    // the shell of a script belongs to the job
    while (parent > 0 && ::getpgid(parent) == ::getpgrp())
        parent = parent_of(parent);
    return parent > 0 && ::getsid(parent) == ::getsid(0);
}

std::string rounded(nanoseconds duration)
{
    return describe(std::chrono::ceil<milliseconds>(duration));
}

} // namespace

Supervision::Supervision(
    asio::any_io_executor const& executor, CommandLease const& held, Guard& guard, ChildProcess& child,
    Terminal& terminal, Report const& report)
    : held_(held)
    , guard_(guard)
    , child_(child)
    , terminal_(terminal)
    , report_(report)
    , next_look_(executor)
    , notice_(held.valid_until() - held.stop_at())
    , kill_at_(held.valid_until() - kill_margin(notice_))
{
}

GuardDeadlines deadlines(CommandLease const& held)
{
    auto const valid_until = held.valid_until();
    auto const stop_at = held.stop_at();
    auto const notice = valid_until - stop_at;
    // the keeper asks first, as long as it runs; one that is stopped gets a little time to come back
    return {(stop_at + notice / 8).time_since_epoch(), (valid_until - kill_margin(notice)).time_since_epoch()};
}

asio::awaitable<Supervision::Result> Supervision::run()
{
    for (;;) {
        auto const state = co_await asio::this_coro::cancellation_state;
        look(state.cancelled());
        if (over_)
            break;
        next_look_.expires_after(until_next_look());
        co_await next_look_.async_wait(as_result);
    }
    auto const result = Result{*status_, lost_ || guard_.has_acted(), child_.start_error(), terminal_.is_lent()};
    guard_.dismiss();
    child_.reap();
    terminal_.take_back();
    co_return result;
}

void Supervision::wake()
{
    next_look_.cancel();
}

void Supervision::forward(int signal)
{
    if (signal == SIGCONT)
        resume();
    else
        child_.signal_group(signal);
}

void Supervision::look(asio::cancellation_type cancelled)
{
    follow_leases();
    follow_cancellation(cancelled);
    follow_child();
    reap_orphans();
    if (!over_ && end_by_ && Clock::now() >= *end_by_)
        child_.signal_group(SIGKILL);
}

void Supervision::follow_leases()
{
    if (lost_)
        return;
    if (auto const reason = held_.loss()) {
        lost_ = true;
        // after a proven loss, long before the validity ends, another holder may have the key already
        auto const end_by = std::min(kill_at_, Clock::now() + notice_);
        report_.error(
            "the lease on " + printable(held_.lost_key(), 256) + " is lost (" + std::string(describe(*reason)) +
            "): ending the command, which is killed in " + rounded(std::max(nanoseconds{0}, end_by - Clock::now())));
        end_group(end_by);
        guard_.move({end_by.time_since_epoch(), end_by.time_since_epoch()});
        return;
    }
    notice_ = held_.valid_until() - held_.stop_at();
    kill_at_ = held_.valid_until() - kill_margin(notice_);
    guard_.move(deadlines(held_));
    // a command that is given time to end is guarded as before
    if ((!end_by_ || *end_by_ > kill_at_) && !guard_.check()) {
        report_.error("the guard process has ended and no new one can be started: ending the command");
        end_group(std::min(kill_at_, Clock::now() + notice_));
    }
}

void Supervision::follow_cancellation(asio::cancellation_type cancelled)
{
    if (lost_ || cancelled == asio::cancellation_type::none)
        return;
    bool const at_once = (cancelled & asio::cancellation_type::terminal) != asio::cancellation_type::none;
    end_group(at_once ? Clock::now() : Instant::max());
}

void Supervision::follow_child()
{
    if (!status_) {
        if (auto const stop = child_.take_stop())
            suspend(*stop);
        // a shell that was slow to put this job in the foreground has taken the terminal from the command again
        if (terminal_.lend(child_.id()) && stopped_)
            resume();
        status_ = child_.ended();
    }
    if (!status_)
        return;
    if (has_live_member(child_.id())) {
        if (!end_by_) {
            report_.info("the command has ended and left processes behind: ending them");
            end_group(std::min(kill_at_, Clock::now() + notice_));
        }
        return;
    }
    // a process that was being forked while the others were looked at would have been overlooked
    child_.signal_group(SIGKILL);
    over_ = !has_live_member(child_.id());
}

void Supervision::suspend(int signal)
{
    stopped_ = true;
    if (signal == SIGTTIN || signal == SIGTTOU) {
        // the lease stays, and the command continues once it gets the terminal
        if (terminal_.is_lent())
            resume();
        else
            terminal_.demand();
        return;
    }
    bool const was_lent = terminal_.is_lent();
    if (!terminal_.take_back())
        return; // stopped by a signal, in the background: the lease stays
    // without a shell above that could continue this process, the kernel would ignore the signal below
    if (!shell_can_continue_us()) {
        resume();
        return;
    }
    report_.warning(
        "suspended: the lease is not renewed meanwhile, and the command is killed in " +
        rounded(std::max(nanoseconds{0}, kill_at_ - Clock::now())) + " unless it is continued before");
    // as the shell expects of a job
    struct sigaction standard = {};
    struct sigaction before = {};
    standard.sa_handler = SIG_DFL;
    ::sigemptyset(&standard.sa_mask);
    ::sigaction(SIGTSTP, &standard, &before);
    // if the terminal was lent, its key has not reached the rest of this process' group
    if (was_lent)
        ::kill(0, SIGTSTP);
    else
        ::raise(SIGTSTP);
    ::sigaction(SIGTSTP, &before, nullptr);
    resume();
}

void Supervision::resume()
{
    stopped_ = false;
    terminal_.lend(child_.id());
    child_.signal_group(SIGCONT);
}

void Supervision::end_group(Instant kill_at)
{
    end_by_ = end_by_ ? std::min(*end_by_, kill_at) : kill_at;
    if (!guard_.begin_termination())
        return;
    child_.signal_group(SIGTERM);
    // a stopped process cannot handle a signal
    child_.signal_group(SIGCONT);
}

nanoseconds Supervision::until_next_look() const
{
    if (status_)
        return between_looks_at_remains;
    auto const usual = std::clamp(nanoseconds{held_.ttl()} / 50, least_between_looks, most_between_looks);
    if (!end_by_)
        return usual;
    return std::clamp(*end_by_ - Clock::now(), nanoseconds{std::chrono::milliseconds{1}}, usual);
}

} // namespace tenure::tool
