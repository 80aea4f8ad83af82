// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/command_words.hpp"
#include "command_line/help.hpp"
#include "output/time_text.hpp"
#include "run/leased_command.hpp"
#include "run/shard_commands.hpp"
#include "run/window.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace
{

CommandHelp run_help()
{
    return {
        .usage =
            "tenure run (--size N [--pool PREFIX] | --lock NAME... | --fair NAME | --shared NAME | --exclusive NAME | "
            "--semaphore NAME --permits N | --shards NAME --count N) [OPTIONS] [--] COMMAND [ARGUMENTS...]",
        .text =
            "Holds a slot of a pool, a lock or several locks while a command runs. The command begins with the first "
            "word that is not an option, or after --.\n\n"
            "The command gets TENURE_KEY, TENURE_FENCING_TOKEN and, for a pool, TENURE_SLOT in its environment. It "
            "runs in a process group of its own, and signals are passed on to that group. When the lease is lost, the "
            "group gets SIGTERM and, before the lease's validity ends, SIGKILL; the same happens if this program is "
            "killed, stopped or stuck. The lease is released when the command, and everything it left behind in its "
            "group, has ended.\n\n"
            "Several --lock take all of these locks or none, in an order that cannot deadlock. The command is ended "
            "when any of them is lost. It gets TENURE_KEYS, one key to a line, and a token for each key: "
            "TENURE_FENCING_TOKEN_1 and so on, in the order of --lock.\n\n"
            "--fair, --shared, --exclusive and --semaphore name one lock whose waiters are served in the order in "
            "which "
            "they came. All programs must name a key by the same kind.\n\n"
            "--shards takes a part of N shards, which all programs with that name share out among themselves, and runs "
            "the command once for each of them, with TENURE_SHARD and nothing to read. When a shard is given up to "
            "another program, its command gets SIGTERM and, after --drain, SIGKILL. A command that ends by itself is "
            "not started again: its shard stays held. The program ends by a signal; a second one kills the "
            "commands.\n\n"
            "With --window the command runs once in that time: when it has succeeded, its lock stays taken until the "
            "window, which began with the grant, is over. A command that fails gives its lock back. --at names the "
            "occurrence that is to run once, such as a scheduled time.",
        .examples =
            {{"tenure run --pool worker: --size 16 ./worker", "one of the slots worker:0..15 for ./worker"},
             {"tenure run --pool shard: --size 4 --wait 2m -- sh -c 'work --shard $TENURE_SLOT'",
              "a slot's number on a command line"},
             {"tenure run --lock nightly --wait 0 backup", "does nothing if another machine runs it already"},
             {"tenure run --lock stock --lock orders ./settle", "two locks, all or none"},
             {"tenure run --shared catalogue ./report", "beside other readers, and no --exclusive catalogue"},
             {"tenure run --semaphore builds --permits 8 --take 2 make", "two of eight permits"},
             {"tenure run --shards orders --count 64 -- ./consume", "a part of 64 shards, a process for each"},
             {"tenure run --pool worker: --size 16 --metrics 127.0.0.1:9100 ./worker", "with metrics for Prometheus"},
             {"tenure run --window 50m --lock report ./report", "once an hour, on one of many machines"},
             {"tenure run --window 1h --at 2026-01-31T02:00Z --lock report ./report", "once for this occurrence"}},
        .exit_codes = {
            {"any", "the command's own, or 128 + the signal that ended it; of several, the first that is not 0"},
            {"64", "the command line is wrong"},
            {"69", "the store cannot be reached or refuses"},
            {"70", "no process could be started"},
            {"75", "none was free within --wait"},
            {"79", "the lease was lost"},
            {"80", "with --window: another process runs the command, or has run it"},
            {"126", "the command cannot be executed"},
            {"127", "there is no such command"},
            {"128+N", "ended by signal N while waiting for a slot"}}};
}

/** A duration, or `forever`. @throws std::invalid_argument */
std::chrono::milliseconds parse_wait_limit(std::string const& text)
{
    if (text == "forever")
        return std::chrono::milliseconds::max();
    auto const duration = parse_duration(text);
    if (!duration)
        throw std::invalid_argument(
            "--wait: '" + text + "' is no duration: give a whole number and a unit, like 500ms or 5s, or 'forever'");
    return *duration;
}

/** Options that only make sense together. */
struct WindowOptions {
    std::optional<std::chrono::milliseconds> length;
    std::string at;

    /** @throws std::invalid_argument */
    [[nodiscard]] std::optional<Window> window(TargetSettings const& target, ShareSettings const& share) const
    {
        if (!length) {
            if (!at.empty())
                throw std::invalid_argument("--at names an occurrence: say by --window how long one lasts");
            return std::nullopt;
        }
        if (!target.is_lock() || target.locks.size() > 1 || share.has_places())
            throw std::invalid_argument("--window is for one lock: name it by --lock NAME");
        if (*length <= std::chrono::milliseconds{0})
            throw std::invalid_argument("--window: a window has a length, like 55m");
        auto const instant = parse_utc_time(at);
        if (!at.empty() && !instant)
            throw std::invalid_argument(
                "--at: '" + at + "' is no time: write 2026-01-31T02:00Z, or seconds since 1970 like @1769824800");
        return Window(*length, instant);
    }
};

} // namespace

Command add_run_command(CLI::App& program)
{
    auto settings = std::make_shared<RunSettings>();
    auto* const options = program.add_subcommand("run", "hold a slot or a lock while a command runs");
    describe_command(*options, run_help());
    settings->store.may_be_local = true;
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target, "several --lock take all of these locks, or none");
    add_share_options(*options, settings->share, settings->target);
    add_shard_options(
        *options, settings->shards,
        {"--lock", "--pool", "--size", "--fair", "--shared", "--exclusive", "--semaphore", "--permits", "--take"});
    add_member_options(*options, settings->shards);
    add_duration(
        *options, "--ttl", settings->ttl, "how long the store keeps the claim of a holder that died (default: 10s)");
    auto const parse_wait = [settings](std::string const& text) { settings->wait = parse_wait_limit(text); };
    options
        ->add_option_function<std::string>(
            "--wait", parse_wait,
            "how long to wait for a free one; 0 tries once, 'forever' never gives up (default: 30s; with --window: 0)")
        ->type_name("DURATION");
    add_duration(
        *options, "--kill-after,--notice", settings->notice,
        "the time the command has to end between SIGTERM and the end of the lease (default: ttl/10, at least 20ms; at "
        "most ttl/3)");
    add_duration(
        *options, "--reuse-after", settings->reuse_after,
        "how long a slot or a --lock stays taken after its release, as worker IDs need (default: 0s)");
    options->add_option("--note", settings->note, "a few words that tenure status shows beside the holder")
        ->type_name("TEXT");
    options
        ->add_option(
            "--metrics", settings->metrics,
            "serve metrics for Prometheus there on /metrics; /ready says whether the command runs under its lease")
        ->type_name("HOST:PORT");
    auto const window = std::make_shared<WindowOptions>();
    add_duration(
        *options, "--window", window->length,
        "run the command once in this time: after its success the lock stays taken until this long after its grant");
    options
        ->add_option(
            "--at", window->at,
            "with --window: which occurrence is to run once, by its time in UTC; all times of one window, counted from "
            "1970, name the same occurrence")
        ->type_name("TIME");
    // the command begins with the first word that is no option, or after --
    options->prefix_command();
    for (auto const* const other : {"--wait", "--reuse-after", "--window", "--at"})
        options->get_option("--shards")->excludes(options->get_option(other));
    auto run = [settings, window, options](Invocation const& invocation) {
        settings->shards.check();
        if (settings->shards.named())
            return run_shards(*settings, with_command(invocation, *options));
        settings->window = window->window(settings->target, settings->share);
        return run_leased(*settings, with_command(invocation, *options));
    };
    return {options, run};
}

} // namespace tenure::tool
