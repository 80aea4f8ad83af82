// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "keys/each_key.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/live_screen.hpp"
#include "output/log_relay.hpp"
#include "status/slot_listing.hpp"
#include "status/status_screen.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

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

namespace
{

CommandHelp status_help()
{
    return {
        .usage = "tenure status (--size N [--pool PREFIX] | --lock NAME...) [OPTIONS]",
        .text =
            "Shows who holds which slot or lock, since when and for how long, and how long the claim still lives in "
            "the store if it is not renewed. A snapshot: it proves nothing about the next moment. The owner's secret "
            "is never shown.",
        .examples =
            {{"tenure status --size 16", "the pool thread_id_lock:0..15"},
             {"tenure status --lock nightly --json", "a lock, for programs"},
             {"tenure status --lock stock --lock orders", "two locks"},
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
    bool watch = false;
    bool json = false;
};

bool shows_screen(StatusSettings const& settings)
{
    return settings.watch && !settings.json && LiveScreen::possible();
}

/** Inspects once, or repeatedly until it is stopped. */
class StatusLoop
{
public:
    explicit StatusLoop(StatusSettings const& settings)
        : settings_(settings)
        , color_(uses_color(STDOUT_FILENO, settings.store.color))
        , ranges_(settings.target.ranges())
        , store_(settings.store.open(loop_.get_executor(), log()))
    {
    }

    int run()
    {
        if (settings_.watch) {
            for (auto const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
                signals_.add(signal);
            if (shows_screen(settings_))
                screen_.emplace(loop_.get_executor(), color_);
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
        if (!shows_screen(settings_))
            return settings_.store.report().sink();
        relay_.emplace(loop_.get_executor(), [this](LogLevel, std::string const& text) {
            if (screen_)
                screen_->trouble(text);
        });
        return relay_->sink(settings_.store.report());
    }

    void print(SlotListing listing)
    {
        if (screen_) {
            screen_->show(std::move(listing));
            return;
        }
        std::cout << (settings_.json ? as_json(listing) : as_table(listing, color_));
        // one listing after the other
        if (settings_.watch && !settings_.json)
            std::cout << '\n';
        std::cout << std::flush;
    }

    void tell(error_code error)
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

    asio::awaitable<error_code> look(SlotListing& listing)
    {
        for (auto const& range : ranges_) {
            auto const result = co_await store_.async_inspect(
                range, asio::bind_cancellation_slot(stop_asking_.slot(), asio::as_tuple(asio::use_awaitable)));
            auto const error = std::get<0>(result);
            if (stopped_ || (error && !may_hide_others()))
                co_return error;
            if (error) {
                auto const rest = co_await look_at_each(listing);
                co_return rest ? error : error_code();
            }
            auto const& found = std::get<1>(result);
            listing.states.insert(listing.states.end(), found.begin(), found.end());
        }
        co_return error_code();
    }

    [[nodiscard]] bool may_hide_others() const { return ranges_.size() > 1 || ranges_.front()->count > 1; }

    /** One key that cannot be read makes the store refuse all of its range.
     *  @returns true if no key can be read */
    asio::awaitable<bool> look_at_each(SlotListing& listing)
    {
        auto each = co_await look_at_each_key(store_, ranges_, each_key_limit);
        bool const nothing = each.all_unread();
        listing.states = std::move(each.states);
        listing.unread = std::move(each.unread);
        co_return nothing;
    }

    asio::awaitable<int> show()
    {
        for (;;) {
            SlotListing listing{store_.describe(), ranges_, {}, {}};
            auto const error = co_await look(listing);
            if (stopped_)
                co_return success;
            listing.taken_at = std::chrono::system_clock::now();
            bool const complete = !error && listing.unread.empty();
            if (error)
                tell(error);
            else
                print(std::move(listing));
            // a watched store may become available again, but a closed output does not
            if (!settings_.watch || !std::cout)
                co_return error ? exit_code_for(error) : complete ? success : store_failed;
            pause_.expires_after(between_pictures);
            co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (stopped_)
                co_return success;
        }
    }

    StatusSettings const& settings_;
    bool color_;
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
    add_target_options_for_several(*options, settings->target, "several --lock show these locks");
    options->add_flag("--watch,-w", settings->watch, "show it again each second, until ^C");
    options->add_flag("--json", settings->json, "one JSON object to a line, for programs");
    return {options, [settings](Invocation const&) { return StatusLoop(*settings).run(); }};
}

} // namespace tenure::tool
