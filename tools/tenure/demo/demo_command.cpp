// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "demo/board.hpp"
#include "demo/crew.hpp"
#include "demo/director.hpp"
#include "demo/view.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/live_screen.hpp"
#include "output/report.hpp"

#include <tenure/open_store.hpp>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>

#include <unistd.h>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp demo_help()
{
    return {
        .usage = "tenure demo [--store URL] [OPTIONS]",
        .text =
            "Shows what leases do: workers contend for fewer slots, one of them is killed and its slot expires, "
            "another is evicted from its slot and stops in time. Without a store all of it happens in this process; "
            "with the URL of a server or a directory the workers are processes that share it. The killed one gets "
            "kill -9, and one more is paused until its slot has expired. The demo keeps its own record of who worked "
            "under which slot, and checks it.",
        .examples =
            {{"tenure demo", "needs no server"},
             {"tenure demo --store file:", "real processes of this machine"},
             {"tenure demo --store redis://localhost --workers 8 --slots 3 --seconds 20", "real processes"}},
        .exit_codes = {
            {"0", "every worker has had a slot, and no slot was ever held by two"},
            {"1", "something did not go as it must"},
            {"64", "the command line is wrong"},
            {"69", "the store cannot be reached or refuses"},
            {"128+N", "ended by signal N"}}};
}

struct DemoOptions {
    StoreSettings store;
    DemoSettings demo;
    std::uint32_t seconds = 8;
};

/** Log lines that come to the same terminal would end up in the picture. */
bool shows_screen(DemoOptions const& options)
{
    return LiveScreen::possible() && (options.store.verbosity == 0 || ::isatty(STDERR_FILENO) == 0);
}

asio::awaitable<int> try_store(DemoOptions const& options, Store store, KeyRangePtr range)
{
    auto const looked = co_await store.async_inspect(range, as_result);
    auto const error = std::get<0>(looked);
    if (error)
        options.store.report().error("no demo: " + explain(store, error));
    co_return error ? exit_code_for(error) : success;
}

/** Looks whether there is a store to show leases on, and says why not. @return the exit code */
int find_store(DemoOptions const& options, KeyRangePtr const& range)
{
    asio::io_context loop(1);
    return run_to_end(loop, try_store(options, options.store.open_once(loop.get_executor()), range));
}

int run_demo(DemoOptions options, Inheritance const& inheritance)
{
    auto& settings = options.demo;
    if (settings.workers <= settings.slots)
        throw std::invalid_argument("--workers must be more than --slots, or no worker has to wait");
    settings.duration = std::chrono::seconds{options.seconds};
    settings.verbosity = options.store.verbosity;
    auto const in_process = options.store.url.empty() || options.store.url.starts_with("memory:");
    // the workers' stores find each other by the name
    settings.url = in_process ? "memory://tenure-demo" : options.store.url;
    if (settings.pool.empty())
        settings.pool = "tenure-demo:" + std::to_string(::getpid()) + ":";
    options.store.url = settings.url;
    options.store.worker = "demo";
    settings.color = uses_color(STDOUT_FILENO, options.store.color);
    auto const range = numbered_keys(settings.pool, settings.slots);
    if (auto const code = find_store(options, range); code != success)
        return code;

    asio::io_context loop(1);
    DemoBoard board;
    std::unique_ptr<DemoView> view;
    // the store's log lines are part of the demo's output
    LogRelay const relay(loop.get_executor(), [&view](LogLevel level, std::string const& text) {
        if (view)
            view->event(std::string(to_string(level)) + ": " + text);
    });
    auto const store = options.store.open(loop.get_executor(), relay.sink(options.store.report()));
    static_cast<void>(SlotPool(store, settings.pool_config()));
    auto const crew = in_process ? make_crew_of_coroutines(settings, board, loop)
                                 : make_crew_of_processes(settings, board, inheritance);
    view = shows_screen(options) ? make_demo_screen(loop.get_executor(), settings, board) : make_demo_events();
    DemoDirector director(settings, store, range, board, *crew, *view);
    int signalled = 0;
    asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
    signals.add(SIGQUIT);
    signals.async_wait([&](error_code error, int signal) {
        signalled = error ? 0 : signal;
        director.stop();
    });
    auto const code = run_to_end(loop, director.run());
    return signalled != 0 ? by_signal + signalled : code;
}

struct WorkerSettings {
    StoreSettings store;
    TargetSettings target;
    std::chrono::milliseconds ttl{2'000};
    int board = -1;
    std::uint32_t index = 0;
    bool quiet = false;
};

asio::awaitable<int> work(SlotPool pool, DemoBoard& board, std::uint32_t index)
{
    co_await work_for_demo(pool, board, index);
    co_return success;
}

int run_worker(WorkerSettings const& settings)
{
    if (settings.index >= DemoBoard::most_workers || settings.target.size > DemoBoard::most_slots)
        throw std::invalid_argument("this command is part of tenure demo, and not for people");
    DemoBoard board(settings.board);
    asio::io_context loop(1);
    auto config = SlotPoolConfig{settings.target.pool, settings.target.size, settings.ttl, {}};
    StoreOptions options;
    options.worker_name = settings.store.worker;
    options.log = settings.quiet ? silent_log_sink() : settings.store.report().sink();
    options.log_level = settings.store.report().level();
    auto pool = SlotPool(open_store(loop.get_executor(), settings.store.url, std::move(options)), config);
    return run_to_end(loop, work(pool, board, settings.index));
}

} // namespace

Command add_demo_command(CLI::App& program)
{
    auto settings = std::make_shared<DemoOptions>();
    auto* const options = program.add_subcommand("demo", "show leases at work, without or with a server");
    describe_command(*options, demo_help());
    add_store_options(*options, settings->store, false);
    options->add_option("--workers", settings->demo.workers, "how many workers contend, 2 to 32")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(std::uint32_t{2}, DemoBoard::most_workers));
    options->add_option("--slots", settings->demo.slots, "for how many slots, 1 to 32")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(std::uint32_t{1}, DemoBoard::most_slots));
    options->add_option("--seconds", settings->seconds, "how long the demo lasts, 2 to 3600")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(std::uint32_t{2}, std::uint32_t{3'600}));
    add_duration(*options, "--ttl", settings->demo.ttl, "ttl of the slots (default: 2s)");
    options->add_option("--pool", settings->demo.pool, "prefix of the keys (default: tenure-demo:PID:)")
        ->type_name("PREFIX");
    return {options, [settings](Invocation const& invocation) { return run_demo(*settings, invocation.inheritance); }};
}

Command add_demo_worker_command(CLI::App& program)
{
    auto settings = std::make_shared<WorkerSettings>();
    auto* const options = program.add_subcommand("demo-worker", "part of demo");
    // an empty group hides it from the help
    options->group("");
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target);
    add_duration(*options, "--ttl", settings->ttl, "");
    options->add_option("--board", settings->board)->required();
    options->add_flag("--quiet", settings->quiet);
    options->add_option("--index", settings->index)->required();
    return {options, [settings](Invocation const&) { return run_worker(*settings); }};
}

} // namespace tenure::tool
