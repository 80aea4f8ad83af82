// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/supervised_run.hpp"

#include "command_line/exit_code.hpp"
#include "keys/loop.hpp"
#include "run/held_keys.hpp"
#include "run/inheritance.hpp"

#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

/// limit of the wait for a store that does not answer, so that the program continues: the claim expires by itself
constexpr std::chrono::milliseconds release_limit{2'000};
/// Longer than a single try takes. The program names its wait after a second anyway.
constexpr std::chrono::milliseconds silent_start{3'000};

/** The store's log without losses of leases: the supervision says that, and what becomes of the command. */
LogSink without_losses(LogSink sink)
{
    return [sink = std::move(sink)](LogLevel level, std::string_view line) {
        auto const begins = line.find("lease on ");
        bool const of_one =
            begins != std::string_view::npos && line.find(" is lost (", begins) != std::string_view::npos;
        if (!of_one && line.find("leases lost: ") == std::string_view::npos)
            sink(level, line);
    };
}

} // namespace

bool asks_to_end(int signal) noexcept
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

SupervisedRun::SupervisedRun(StoreSettings const& settings, Invocation const& invocation)
    : report_(settings.report())
    , lines_(loop_.get_executor(), report_, silent_start)
    , signals_(loop_, SIGCHLD)
    , store_(open(settings, invocation.inheritance))
{
}

Store SupervisedRun::open(StoreSettings const& settings, Inheritance const& inheritance)
{
    for (auto const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP})
        if (!inheritance.ignores(signal))
            signals_.add(signal);
    return settings.open(loop_.get_executor(), without_losses(lines_.sink()));
}

Ending SupervisedRun::run()
{
    wait_for_signal();
    auto const code = run_to_end(loop_, operate());
    return {code, interruption_};
}

int SupervisedRun::end_by_signal() noexcept
{
    if (asked_to_end_ == SIGINT)
        interruption_ = Interruption::of_group;
    return by_signal + asked_to_end_;
}

void SupervisedRun::wait_for_signal()
{
    signals_.async_wait([this](error_code error, int signal) {
        if (error)
            return;
        on_signal(signal);
        wait_for_signal();
    });
}

CommandRun::CommandRun(StoreSettings const& settings, Invocation const& invocation, Guard& guard)
    : SupervisedRun(settings, invocation)
    , command_(store_, invocation, guard, report_)
{
}

asio::awaitable<GuardedCommand::Result> CommandRun::run_command(std::vector<std::string> more)
{
    lines_.let_through();
    auto environment = environment_for(held_);
    environment.insert(environment.end(), more.begin(), more.end());
    auto result = co_await command_.run(held_, std::move(environment));
    interruption_ = result.ending.interruption;
    co_return result;
}

asio::awaitable<bool> CommandRun::give_back()
{
    bool confirmed = true;
    if (held_)
        confirmed = co_await held_.release(release_limit);
    co_return confirmed;
}

void CommandRun::on_signal(int signal)
{
    bool const runs = command_.running() || signal == SIGCHLD;
    // a command that ends by itself ends the program; one that is ended for a lost lease may not
    if (asked_to_end_ == 0 && (runs ? signal == SIGINT || signal == SIGTERM : asks_to_end(signal)))
        asked_to_end_ = signal;
    if (runs)
        command_.on_signal(signal);
    else if (asks_to_end(signal))
        cancel_.emit(asio::cancellation_type::terminal);
    else if (signal == SIGTSTP)
        // nothing runs that would need the lease
        ::raise(SIGSTOP);
}

} // namespace tenure::tool
