// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/program.hpp"

#include "command_line/command_words.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/option_list.hpp"
#include "run/inheritance.hpp"

#include <tenure/version.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tenure::tool
{

namespace
{

CommandHelp program_help()
{
    return {
        .usage = "tenure COMMAND [OPTIONS]",
        .text = "Leases from the shell: locks, and pools of numbered slots, shared by many machines.\n\n"
                "Each command has its own --help. Durations are written 500ms, 5s, 2m or 1h.",
        .examples =
            {{"tenure demo", "try it without any server"},
             {"export TENURE_STORE=redis://localhost", "the server for the commands that follow"},
             {"tenure run --pool worker: --size 4 ./worker", "hold a slot while ./worker runs"}},
        .environment = {
            {"TENURE_STORE",
             "the store's URL if --store is not given; demo ignores it. If it is unset, run, elect and leader use a "
             "directory of this machine, but not in a Kubernetes pod (KUBERNETES_SERVICE_HOST)"},
            {"NO_COLOR", "if it is set and not empty, output has no colours unless --color asks for them"},
            {"TERM", "if it is unset or 'dumb', output has no colours, and demo and status --watch use no live screen"},
            {"TZ", "the time zone of what status shows; JSON is in UTC"}}};
}

/** Words after the first `--` belong to the command, even if they look like options. */
Invocation cut_after_dashes(Inheritance const& inheritance, std::vector<std::string>& words)
{
    auto const dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end())
        return {inheritance, {}, false};
    auto result = std::vector<std::string>(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return {inheritance, std::move(result), true};
}

} // namespace

Program::Program()
    : app_("leases from the shell: locks, and pools of numbered slots, shared by many machines", "tenure")
{
    describe_command(app_, program_help());
    app_.set_version_flag("--version", std::string(tenure::version()), "show the version");
    app_.require_subcommand(1);
    for (auto const add :
         {add_run_command, add_elect_command, add_leader_command, add_status_command, add_list_command,
          add_init_command, add_doctor_command, add_evict_command, add_exporter_command, add_demo_command,
          add_completion_command, add_man_page_command, add_demo_worker_command})
        commands_.push_back(add(app_));
}

int Program::run(Inheritance const& inheritance, std::vector<std::string> words)
{
    auto const invocation = cut_after_dashes(inheritance, words);
    check_command(words);
    try {
        // CLI11 takes the words from the back
        std::reverse(words.begin(), words.end());
        app_.parse(words);
    } catch (CLI::ExtrasError const&) {
        auto const& owner = parsed() == nullptr ? app_ : *parsed()->options;
        refuse_first_of(owner.remaining(), owner);
    } catch (CLI::ParseError const& error) {
        if (error.get_exit_code() == 0)
            return app_.exit(error) == 0 ? success : usage;
        auto const* const command = parsed();
        if (command == nullptr)
            throw std::invalid_argument("which command? (tenure --help lists the commands)");
        throw std::invalid_argument(
            std::string(error.what()) + " (tenure " + command->options->get_name() + " --help lists the options)");
    }
    return parsed()->run(invocation);
}

/** @throws std::invalid_argument if the first word is neither an option nor a command */
void Program::check_command(std::vector<std::string> const& words) const
{
    if (words.empty() || words.front().starts_with('-'))
        return;
    auto const& word = words.front();
    for (auto const& command : commands_)
        if (command.options->get_name() == word)
            return;
    std::vector<std::string> known;
    for (auto const* const command : commands_of(app_))
        known.push_back(command->get_name());
    auto const meant = suggestion_for(word, known);
    throw std::invalid_argument(
        "there is no command '" + word + "'" + (meant.empty() ? "" : "; did you mean '" + meant + "'?") +
        " (tenure --help lists the commands)");
}

Command const* Program::parsed() const
{
    auto const found =
        std::ranges::find_if(commands_, [](Command const& command) { return command.options->parsed(); });
    return found == commands_.end() ? nullptr : &*found;
}

} // namespace tenure::tool
