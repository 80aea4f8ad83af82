// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/command_words.hpp"
#include "command_line/help.hpp"
#include "elect/elected_command.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace tenure::tool
{

namespace
{

CommandHelp elect_help()
{
    return {
        .usage = "tenure elect NAME [OPTIONS] [--] COMMAND [ARGUMENTS...]",
        .text =
            "Campaigns for the election NAME, and runs a command while this program leads. The command begins with the "
            "first word after NAME that is not an option, or after --.\n\n"
            "When the leadership is lost, the command is ended as that of tenure run, before another program can lead. "
            "Then the program campaigns again, and starts the command again. It ends when the command ends by itself, "
            "with its exit code.\n\n"
            "The command gets TENURE_ELECTION, which is NAME, TENURE_KEY, which is the same, and TENURE_FENCING_TOKEN, "
            "which is greater for every later leader.",
        .examples =
            {{"tenure elect scheduler ./scheduler", "one of many machines runs the scheduler"},
             {"tenure elect scheduler --contact 10.0.0.7:8080 ./scheduler", "and the others see where"},
             {"tenure leader scheduler", "who leads"}},
        .exit_codes = {
            {"any", "the command's own, or 128 + the signal that ended it"},
            {"64", "the command line is wrong"},
            {"69", "the store refuses, and asking again cannot help"},
            {"70", "no process could be started"},
            {"126", "the command cannot be executed"},
            {"127", "there is no such command"},
            {"128+N", "ended by signal N while the command did not run"}}};
}

} // namespace

Command add_elect_command(CLI::App& program)
{
    auto settings = std::make_shared<ElectSettings>();
    auto* const options = program.add_subcommand("elect", "run a command while this program leads");
    describe_command(*options, elect_help());
    add_store_options(*options, settings->store);
    options->add_option("NAME", settings->name, "the election: the key NAME")->type_name("NAME")->required();
    options
        ->add_option("--contact", settings->contact, "where the others reach this program while it leads; not secret")
        ->type_name("TEXT");
    add_duration(
        *options, "--ttl", settings->ttl, "how long the store keeps a leader that does not renew (default: 5s)");
    add_duration(
        *options, "--kill-after,--notice", settings->notice,
        "the time the command has to end between SIGTERM and the end of the leadership (default: ttl/10, at least "
        "20ms; at most ttl/3)");
    options->prefix_command();
    auto run = [settings, options](Invocation const& invocation) {
        return run_elected(*settings, with_command(invocation, *options));
    };
    return {options, run};
}

} // namespace tenure::tool
