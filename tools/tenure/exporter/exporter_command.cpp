// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "exporter/metrics_page.hpp"
#include "exporter/metrics_server.hpp"
#include "keys/key_look.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"

#include <tenure/errc.hpp>

#include <CLI/CLI.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace
{

/// a store that has not answered by then is down, for this scrape: Prometheus waits for 10 s by default
constexpr std::chrono::milliseconds answer_limit{4'000};

CommandHelp exporter_help()
{
    return {
        .usage = "tenure exporter [--pool PREFIX --size N] [--lock NAME...] [--election NAME...] [OPTIONS]",
        .text =
            "Serves metrics of a pool, of locks or of elections for Prometheus, as it sees them from outside: holders, "
            "since when they hold, how long the store still keeps the slot taken, free slots, and whether the store "
            "answers. Each scrape of /metrics reads the store once. /ready says whether the last scrape found the "
            "store "
            "available.\n\n"
            "A pool, locks and elections may be named together. Runs until a signal ends it.",
        .examples =
            {{"tenure exporter --pool shard: --size 16", "a pool, on http://127.0.0.1:9101/metrics"},
             {"tenure exporter --pool shard: --size 4 --lock nightly --election scheduler --metrics 0.0.0.0:9101",
              "and a lock and a leader, for all networks"}},
        .exit_codes = {{"0", "ended by a signal"}, {"64", "the command line is wrong, or the address is in use"}}};
}

struct ExporterSettings {
    StoreSettings store;
    TargetSettings target;
    std::vector<std::string> elections;
    std::string address = "127.0.0.1:9101";

    /** @throws std::invalid_argument */
    [[nodiscard]] std::vector<WatchedRange> ranges() const
    {
        std::vector<WatchedRange> all;
        bool const has_pool = target.size != 0;
        if (has_pool || (elections.empty() && !target.is_lock())) {
            auto pool = target;
            pool.locks.clear();
            all.push_back({pool.range(), false});
        }
        if (target.is_lock())
            for (auto& range : target.ranges())
                all.push_back({std::move(range), false});
        for (auto const& name : elections) {
            check_key("--election", name);
            all.push_back({named_key(name), true});
        }
        return all;
    }
};

/** Serves until a signal ends it. */
class Exporter
{
public:
    explicit Exporter(ExporterSettings const& settings)
        : watched_(settings.ranges())
        , report_(settings.store.report())
        , store_(settings.store.open(loop_.get_executor()))
        , server_(
              loop_.get_executor(), settings.address,
              {.metrics = [this] { return scrape(); }, .ready = [this] { return was_up_; }})
    {
    }

    int run() { return run_to_end(loop_, serve()); }

private:
    asio::awaitable<int> serve()
    {
        server_.start();
        report_.say("serving the metrics of " + store_.describe() + " on " + server_.url());
        auto const result = co_await signals_.async_wait(as_result);
        static_cast<void>(result);
        co_return success;
    }

    asio::awaitable<std::string> scrape()
    {
        std::vector<KeyRangePtr> ranges;
        for (auto const& watched : watched_)
            ranges.push_back(watched.range);
        auto look = co_await look_at_keys(store_, ranges, answer_limit / 2);
        if (look.error)
            look = co_await look_at_each_key(store_, std::move(ranges), look.error, answer_limit / 2);
        auto const keys = WatchedKeys{watched_, std::move(look), std::chrono::system_clock::now()};
        bool const is_up = !keys.look.error;
        if (is_up != was_up_ || first_)
            notify(keys.look.error);
        was_up_ = is_up;
        first_ = false;
        co_return page_of(store_, keys);
    }

    /** Once for each change. */
    void notify(error_code error) const
    {
        if (!error) {
            report_.info(store_.describe() + " answers");
            return;
        }
        // the limit of a scrape cancels its request
        if (error == asio::error::operation_aborted)
            error = errc::store_unavailable;
        report_.error(explain(store_, error));
    }

    std::vector<WatchedRange> watched_;
    Report report_;
    asio::io_context loop_{1};
    Store store_;
    MetricsServer server_;
    asio::signal_set signals_{loop_, SIGINT, SIGTERM, SIGHUP};
    /// the last scrape found the store available
    bool was_up_ = false;
    bool first_ = true;
};

} // namespace

Command add_exporter_command(CLI::App& program)
{
    auto settings = std::make_shared<ExporterSettings>();
    auto* const options = program.add_subcommand("exporter", "serve metrics of a pool or of locks for Prometheus");
    describe_command(*options, exporter_help());
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target, "several --lock show these locks", Targets::together);
    options->add_option("--election", settings->elections, "an election, whose leader is shown; may be repeated")
        ->type_name("NAME")
        ->allow_extra_args(false);
    options->add_option("--metrics", settings->address, "where to serve, as HOST:PORT")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    return {options, [settings](Invocation const&) { return Exporter(*settings).run(); }};
}

} // namespace tenure::tool
