// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/settings.hpp"
#include "demo/worker.hpp"
#include "keys/loop.hpp"

#include <tenure/connect.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace tenure::tool
{

namespace
{

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
    auto pool = SlotPool(connect(loop.get_executor(), settings.store.url, std::move(options)), config);
    return run_to_end(loop, work(pool, board, settings.index));
}

} // namespace

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
