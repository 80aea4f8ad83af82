// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "elect/elected_command.hpp"

#include "command_line/exit_code.hpp"
#include "elect/leader_text.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"
#include "run/guard.hpp"
#include "run/guarded_command.hpp"
#include "run/held_keys.hpp"
#include "run/signal_relay.hpp"

#include <tenure/election.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <csignal>
#include <memory>
#include <string>
#include <utility>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

/// limit of the wait for a store that does not answer, so that the program continues: the claim expires by itself
constexpr milliseconds release_limit{2'000};
/// a campaign that takes no longer is not worth a line
constexpr milliseconds patience{1'000};

ElectionConfig config_of(ElectSettings const& settings)
{
    ElectionConfig config;
    config.name = settings.name;
    config.contact = settings.contact;
    config.ttl = settings.ttl;
    config.lease.notice = settings.notice;
    return config;
}

/** Everything that one `tenure elect` does, on a loop of one thread. */
class ElectedCommand
{
public:
    ElectedCommand(ElectSettings const& settings, Invocation const& invocation, Guard& guard)
        : settings_(settings)
        , report_(settings.store.report())
        , signals_(loop_.get_executor(), invocation.inheritance)
        , store_(settings.store.open(loop_.get_executor()))
        , election_(store_, config_of(settings))
        , command_(store_, invocation, guard, report_)
    {
    }

    Ending run()
    {
        signals_.start([this](int signal) { on_signal(signal); });
        auto const code = run_to_end(loop_, operate());
        return {code, interruption_};
    }

private:
    asio::awaitable<int> operate()
    {
        while (asked_to_end_ == 0) {
            auto const error = co_await campaign();
            if (asked_to_end_ != 0)
                break;
            if (error) {
                report_.error("no leadership of " + printable(settings_.name, 256) + ": " + explain(store_, error));
                co_return exit_code_for(error);
            }
            report_.info("leading " + held_.describe() + ", token " + std::to_string(held_[0].fencing_token()));
            auto environment = environment_for(held_);
            environment.push_back("TENURE_ELECTION=" + settings_.name);
            auto const result = co_await command_.run(held_, std::move(environment));
            co_await resign();
            if (!result.lost) {
                interruption_ = result.ending.interruption;
                co_return result.ending.code;
            }
            report_.say("campaigning again for " + printable(settings_.name, 256));
        }
        co_await resign();
        if (asked_to_end_ == SIGINT)
            interruption_ = Interruption::of_group;
        co_return by_signal + asked_to_end_;
    }

    asio::awaitable<error_code> campaign()
    {
        auto const over = std::make_shared<bool>(false);
        asio::co_spawn(loop_, announce(over), asio::detached);
        auto result = co_await election_.async_campaign(cancelled_by(cancel_.slot()));
        *over = true;
        held_ = HeldKeys(std::move(std::get<1>(result)));
        co_return std::get<0>(result);
    }

    /** Says after a second who leads instead. */
    asio::awaitable<void> announce(std::shared_ptr<bool const> over)
    {
        co_await pause_for(patience);
        if (*over)
            co_return;
        auto const leader = election_.leader();
        auto const where = store_.describe();
        if (leader.state == Leader::State::unknown)
            report_.say("campaigning on " + where + ": " + explain(store_, errc::store_unavailable));
        else
            report_.say(
                "campaigning on " + where + ": " +
                as_text({store_.describe(), settings_.name, leader, std::chrono::system_clock::now()}));
    }

    asio::awaitable<void> resign()
    {
        if (!held_)
            co_return;
        bool const confirmed = co_await held_.release(release_limit);
        if (!confirmed)
            report_.warning(
                "the store has not confirmed the resignation: the claim expires within " + describe(settings_.ttl));
    }

    void on_signal(int signal)
    {
        if (command_.running() || signal == SIGCHLD) {
            // a command that ends by itself ends the program; one that is ended for a lost leadership does not
            if (asked_to_end_ == 0 && (signal == SIGINT || signal == SIGTERM))
                asked_to_end_ = signal;
            command_.on_signal(signal);
        } else if (asks_to_end(signal)) {
            if (asked_to_end_ == 0)
                asked_to_end_ = signal;
            cancel_.emit(asio::cancellation_type::terminal);
        } else if (signal == SIGTSTP) {
            // nothing runs that would need the lease
            ::raise(SIGSTOP);
        }
    }

    ElectSettings const& settings_;
    Report report_;
    asio::io_context loop_{1};
    SignalRelay signals_;
    Store store_;
    Election election_;
    GuardedCommand command_;
    asio::cancellation_signal cancel_;
    HeldKeys held_;
    /// the first signal that asked to end
    int asked_to_end_ = 0;
    /// of the campaign or of the command
    Interruption interruption_ = Interruption::none;
};

Ending run_under_guard(ElectSettings const& settings, Invocation const& invocation)
{
    // before there is anything that a fork could take with it
    Guard guard;
    return ElectedCommand(settings, invocation, guard).run();
}

} // namespace

int run_elected(ElectSettings const& settings, Invocation const& invocation)
{
    check_key("NAME", settings.name);
    if (settings.store.url.starts_with("memory:"))
        settings.store.report().warning(
            "memory:// is a store inside this very process: no other program takes part in this election");
    return carry_out(run_under_guard(settings, invocation));
}

} // namespace tenure::tool
