// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command.hpp"
#include "duration.hpp"
#include "help.hpp"
#include "leased_command.hpp"
#include "unknown_word.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
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
        .usage = "tenure run (--size N [--pool PREFIX] | --lock NAME) [OPTIONS] [--] COMMAND [ARGUMENTS...]",
        .text =
            "Holds a slot of a pool, or a lock, while a command runs. The command begins with the first word that is "
            "not an option, or after --.\n\n"
            "The command gets TENURE_KEY, TENURE_FENCING_TOKEN and, for a pool, TENURE_SLOT in its environment. It "
            "runs "
            "in a process group of its own, and signals are passed on to that group. When the lease is lost, the group "
            "gets SIGTERM and, before the lease's validity ends, SIGKILL; the same happens if this program is killed, "
            "stopped or stuck. The lease is released when the command, and everything it left behind in its group, has "
            "ended.",
        .examples =
            {{"tenure run --size 16 ./worker", "one of the slots thread_id_lock:0..15 for ./worker"},
             {"tenure run --pool shard: --size 4 --wait 2m -- sh -c 'work --shard $TENURE_SLOT'",
              "a slot's number on a command line"},
             {"tenure run --lock nightly --wait 0 backup", "does nothing if another machine is at it"}},
        .exit_codes = {
            {"any", "the command's own, or 128 + the signal that ended it"},
            {"64", "the command line is wrong"},
            {"69", "the store cannot be reached or refuses"},
            {"70", "no process could be started"},
            {"75", "none was free within --wait"},
            {"79", "the lease was lost"},
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

/** The words of the command, which may begin without `--` in front of it. */
Invocation with_command(Invocation const& invocation, CLI::App const& options)
{
    auto words = options.remaining();
    if (!words.empty() && words.front().starts_with('-'))
        refuse_first_of(words, options);
    // one that comes later is the command's own
    if (!words.empty() && invocation.has_dashes)
        words.emplace_back("--");
    words.insert(words.end(), invocation.after_dashes.begin(), invocation.after_dashes.end());
    if (words.empty())
        throw std::invalid_argument("no command to run: give it after the options, like: tenure run --size 4 ./worker");
    return {invocation.inheritance, std::move(words), true};
}

} // namespace

Command add_run_command(CLI::App& program)
{
    auto settings = std::make_shared<RunSettings>();
    auto* const options = program.add_subcommand("run", "hold a slot or a lock while a command runs");
    describe_command(*options, run_help());
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target);
    add_duration(
        *options, "--ttl", settings->ttl, "how long the store keeps the claim of a holder that died (default: 5s)");
    auto const parse_wait = [settings](std::string const& text) { settings->wait = parse_wait_limit(text); };
    options
        ->add_option_function<std::string>(
            "--wait", parse_wait,
            "how long to wait for a free one; 0 tries once, 'forever' never gives up (default: 30s)")
        ->type_name("DURATION");
    add_duration(
        *options, "--kill-after,--notice", settings->notice,
        "the time the command has to end between SIGTERM and the end of the lease (default: ttl/10, at least 20ms; at "
        "most ttl/3)");
    add_duration(
        *options, "--reuse-after", settings->reuse_after,
        "how long a slot stays taken after its release, as worker IDs need (default: 0s)");
    options->add_option("--note", settings->note, "a few words that tenure status shows beside the holder")
        ->type_name("TEXT");
    // the command begins with the first word that is no option, or after --
    options->prefix_command();
    auto run = [settings, options](Invocation const& invocation) {
        return run_leased(*settings, with_command(invocation, *options));
    };
    return {options, run};
}

} // namespace tenure::tool
