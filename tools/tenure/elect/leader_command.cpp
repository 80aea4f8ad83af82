// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "elect/leader_text.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/time_text.hpp"

#include <tenure/election.hpp>

#include <CLI/CLI.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp leader_help()
{
    return {
        .usage = "tenure leader NAME [--watch] [--json] [OPTIONS]",
        .text =
            "Shows which program leads the election NAME, and where it can be reached. It leads by the word of the "
            "store a moment ago, which proves nothing about the next one.\n\n"
            "With --watch each change is one line, until ^C. 'stale:' has the last known leader of a store that has "
            "stopped answering, 'unknown:' means that it has not answered yet.",
        .examples =
            {{"tenure leader scheduler", "for example: w1 leads scheduler, contact 10.0.0.7:8080"},
             {"tenure leader scheduler --watch --json", "each change, for programs"}},
        .exit_codes = {
            {"0", "a program leads"},
            {"1", "no program leads"},
            {"2", "stale: the store has stopped answering (--watch)"},
            {"64", "the command line is wrong"},
            {"69", "unknown: the store cannot be reached or refuses"}}};
}

/// a store that has not said who leads by then is reported as silent
constexpr std::chrono::milliseconds first_answer_limit{5'000};

struct LeaderSettings {
    StoreSettings store;
    std::string name;
    bool watch = false;
    bool json = false;
};

/** Shows the leader once, or each change until a signal ends it. */
class LeaderLoop
{
public:
    explicit LeaderLoop(LeaderSettings const& settings)
        : settings_(settings)
        , store_(
              settings.watch ? settings.store.open(loop_.get_executor())
                             : settings.store.open_once(loop_.get_executor()))
        , election_(store_, {.name = settings.name})
    {
    }

    int run()
    {
        if (settings_.watch) {
            for (auto const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
                signals_.add(signal);
            signals_.async_wait([this](error_code error, int) {
                if (error)
                    return;
                stopped_ = true;
                stop_waiting_.emit(asio::cancellation_type::terminal);
            });
        }
        return run_to_end(loop_, show());
    }

private:
    asio::awaitable<int> show()
    {
        patience_.async_wait([this](error_code error) {
            if (!error)
                stop_waiting_.emit(asio::cancellation_type::terminal);
        });
        Leader leader;
        auto error = co_await wait_for_next(leader);
        patience_.cancel();
        if (stopped_)
            co_return success;
        print(leader);
        if (leader.state == Leader::State::unknown)
            settings_.store.report().error(explain(store_, errc::store_unavailable));
        // the reader of the output may have gone
        while (settings_.watch && std::cout) {
            error = co_await wait_for_next(leader);
            if (stopped_ || (error && error != asio::error::operation_aborted))
                break;
            if (!error)
                print(leader);
        }
        co_return exit_code_for(leader.state);
    }

    /** @param leader  the last one that was seen, and then the next one */
    asio::awaitable<error_code> wait_for_next(Leader& leader)
    {
        auto result = co_await election_.async_next_leader(leader.version, cancelled_by(stop_waiting_.slot()));
        if (!std::get<0>(result))
            leader = std::get<1>(result);
        co_return std::get<0>(result);
    }

    void print(Leader const& leader) const
    {
        auto const news = LeaderNews{store_.describe(), settings_.name, leader, std::chrono::system_clock::now()};
        auto const time = settings_.watch && !settings_.json ? local_time(news.at) + " " : std::string();
        std::cout << time << (settings_.json ? as_json(news) : as_text(news)) << '\n' << std::flush;
    }

    LeaderSettings const& settings_;
    asio::io_context loop_{1};
    Store store_;
    Election election_;
    asio::signal_set signals_{loop_};
    asio::steady_timer patience_{loop_, first_answer_limit};
    asio::cancellation_signal stop_waiting_;
    bool stopped_ = false;
};

} // namespace

Command add_leader_command(CLI::App& program)
{
    auto settings = std::make_shared<LeaderSettings>();
    auto* const options = program.add_subcommand("leader", "show which program leads an election");
    describe_command(*options, leader_help());
    settings->store.may_be_local = true;
    add_store_options(*options, settings->store);
    options->add_option("NAME", settings->name, "the election: the key NAME")->type_name("NAME")->required();
    options->add_flag("--watch,-w", settings->watch, "one line for each change, until ^C");
    options->add_flag("--json", settings->json, "one JSON object to a line, for programs");
    return {options, [settings](Invocation const&) { return LeaderLoop(*settings).run(); }};
}

} // namespace tenure::tool
