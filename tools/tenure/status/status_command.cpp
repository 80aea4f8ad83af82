// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "keys/key_look.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/live_screen.hpp"
#include "output/report.hpp"
#include "run/shard_options.hpp"
#include "status/shard_listing.hpp"
#include "status/slot_listing.hpp"
#include "status/status_screen.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp status_help()
{
    return {
        .usage = "tenure status (--size N [--pool PREFIX] | --lock NAME... | --shards NAME --count N) [OPTIONS]",
        .text =
            "Shows who holds which slot or lock, since when and for how long, and how long the claim still lives in "
            "the store if it is not renewed. A snapshot: it proves nothing about the next moment. The owner's secret "
            "is never shown.",
        .examples =
            {{"tenure status --pool shard: --size 16", "the pool shard:0..15"},
             {"tenure status --lock nightly --json", "a lock, for programs"},
             {"tenure status --lock stock --lock orders", "two locks"},
             {"tenure status --shards orders --count 64", "the members of a group, and the shards of each"},
             {"tenure status --pool shard: --size 4 --watch", "again each second, until ^C"}},
        .exit_codes = {
            {"0", "shown"},
            {"64", "the command line is wrong"},
            {"69", "the store cannot be reached or refuses, also for some keys only: these are shown as unknown"}}};
}

constexpr std::chrono::seconds between_pictures{1};
constexpr std::chrono::seconds each_key_limit{5};

struct StatusSettings {
    StoreSettings store;
    TargetSettings target;
    ShardSettings shards;
    bool watch = false;
    bool json = false;
    bool all = false;
};

bool shows_screen(StatusSettings const& settings)
{
    return settings.watch && !settings.json && !settings.shards.named() && LiveScreen::possible();
}

/** Inspects once, or repeatedly until it is stopped. */
class StatusLoop
{
public:
    explicit StatusLoop(StatusSettings const& settings)
        : settings_(settings)
        , look_{.color = uses_color(STDOUT_FILENO, settings.store.color), .all = settings.all}
        , ranges_(settings.shards.named() ? settings.shards.ranges() : settings.target.ranges())
        , store_(settings.store.open(loop_.get_executor(), log()))
    {
    }

    int run()
    {
        if (settings_.watch) {
            for (auto const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
                signals_.add(signal);
            if (shows_screen(settings_))
                screen_.emplace(loop_.get_executor(), look_);
            signals_.async_wait([this](error_code error, int) {
                if (!error)
                    stop();
            });
        }
        auto const code = run_to_end(loop_, show());
        screen_.reset();
        return code;
    }

private:
    /** Lines that were written past a live screen would stand in the middle of it. */
    LogSink log()
    {
        if (!settings_.watch && settings_.store.verbosity == 0)
            // the command says itself why it failed
            return silent_log_sink();
        if (!shows_screen(settings_))
            return settings_.store.report().sink();
        relay_.emplace(loop_.get_executor(), [this](LogLevel, std::string const& text) {
            if (screen_)
                screen_->trouble(text);
        });
        return relay_->sink(settings_.store.report());
    }

    void print(KeyLook look)
    {
        auto listing = SlotListing{
            store_.describe(), ranges_, std::move(look.states), std::chrono::system_clock::now(),
            std::move(look.unread)};
        if (screen_) {
            screen_->show(std::move(listing));
            return;
        }
        auto fitting = look_;
        fitting.width = columns_of(STDOUT_FILENO);
        if (settings_.shards.named()) {
            ShardListing const shards(std::move(listing));
            std::cout << (settings_.json ? as_json(shards) : as_table(shards, fitting));
        } else {
            std::cout << (settings_.json ? as_json(listing) : as_table(listing, fitting));
        }
        // one listing after the other
        if (settings_.watch && !settings_.json)
            std::cout << '\n';
        std::cout << std::flush;
    }

    void notify(error_code error)
    {
        if (screen_)
            screen_->trouble(explain(store_, error));
        else
            settings_.store.report().error(explain(store_, error));
    }

    void stop()
    {
        stopped_ = true;
        stop_asking_.emit(asio::cancellation_type::terminal);
        pause_.cancel();
    }

    asio::awaitable<int> show()
    {
        for (;;) {
            auto look = co_await look_at_keys(store_, ranges_, stop_asking_.slot());
            if (look.error && !stopped_)
                look = co_await look_at_each_key(store_, ranges_, look.error, each_key_limit);
            if (stopped_)
                co_return success;
            auto const error = look.error;
            bool const complete = !error && look.unread.empty();
            if (error)
                notify(error);
            else
                print(std::move(look));
            // a watched store may become available again, but a closed output does not
            if (!settings_.watch || !std::cout)
                co_return error ? exit_code_for(error) : complete ? success : store_failed;
            pause_.expires_after(between_pictures);
            co_await pause_.async_wait(as_result);
            if (stopped_)
                co_return success;
        }
    }

    StatusSettings const& settings_;
    /// without the width
    TableLook look_;
    asio::io_context loop_{1};
    /// while it watches on a terminal
    std::optional<StatusScreen> screen_;
    std::optional<LogRelay> relay_;
    std::vector<KeyRangePtr> ranges_;
    Store store_;
    asio::signal_set signals_{loop_};
    asio::steady_timer pause_{loop_};
    asio::cancellation_signal stop_asking_;
    bool stopped_ = false;
};

} // namespace

Command add_status_command(CLI::App& program)
{
    auto settings = std::make_shared<StatusSettings>();
    auto* const options = program.add_subcommand("status", "show who holds which slot or lock");
    describe_command(*options, status_help());
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target, "several --lock show these locks");
    add_shard_options(*options, settings->shards, {"--lock", "--pool", "--size"});
    options->add_flag("--watch,-w", settings->watch, "show it again each second, until ^C");
    options->add_flag("--all,-a", settings->all, "show free slots also if there are more than 32");
    options->add_flag("--json", settings->json, "one JSON object to a line, for programs");
    return {options, [settings](Invocation const&) {
                settings->shards.check();
                return StatusLoop(*settings).run();
            }};
}

} // namespace tenure::tool
