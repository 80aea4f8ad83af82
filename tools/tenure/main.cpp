// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command.hpp"
#include "exit_code.hpp"
#include "inheritance.hpp"
#include "option_terms.hpp"
#include "suggestion.hpp"

#include <tenure/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace
{

using namespace tenure::tool;

constexpr auto description = "Leases from the shell: locks, and pools of numbered slots, shared by many machines.";
constexpr auto footer =
    "Try it without any server:   tenure demo\n"
    "Then on one:                 export TENURE_STORE=redis://localhost; tenure run --size 4 -- ./worker\n"
    "Each command has its own --help. Durations are written 500ms, 5s, 2m or 1h.";

int fail(std::string const& text, int code)
{
    std::cerr << "tenure: error: " << text << '\n';
    return code;
}

/** What stands after the first `--` is not for this program, whatever it looks like. */
Invocation cut_after_dashes(Inheritance const& inheritance, std::vector<std::string>& words)
{
    auto const dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end())
        return {inheritance, {}, false};
    auto result = std::vector<std::string>(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return {inheritance, std::move(result), true};
}

/** @throws std::invalid_argument if the first word is neither an option nor a command */
void check_command(CLI::App& program, std::vector<std::string> const& words)
{
    if (words.empty() || words.front().starts_with('-'))
        return;
    auto const& word = words.front();
    std::vector<std::string> known;
    for (auto const* const command : program.get_subcommands([](CLI::App const*) { return true; })) {
        if (command->get_name() == word)
            return;
        // one without a group is not for people
        if (!command->get_group().empty())
            known.push_back(command->get_name());
    }
    auto const meant = suggestion_for(word, known);
    throw std::invalid_argument(
        "there is no command '" + word + "'" + (meant.empty() ? "" : "; did you mean '" + meant + "'?") +
        " (tenure --help lists the commands)");
}

int run(Inheritance const& inheritance, std::vector<std::string> words)
{
    auto const invocation = cut_after_dashes(inheritance, words);
    CLI::App program(description, "tenure");
    program.footer(footer);
    program.set_version_flag("--version", std::string(tenure::version()));
    program.require_subcommand(1);
    auto const commands = {add_run_command(program),   add_status_command(program), add_doctor_command(program),
                           add_evict_command(program), add_demo_command(program),   add_demo_worker_command(program)};
    check_command(program, words);
    try {
        // CLI11 takes the words from the back
        std::reverse(words.begin(), words.end());
        program.parse(words);
    } catch (CLI::ParseError const& error) {
        return program.exit(error) == 0 ? success : usage;
    }
    for (auto const& command : commands)
        if (command.options->parsed())
            return command.run(invocation);
    return usage;
}

} // namespace

int main(int count, char** words)
{
    auto const inheritance = Inheritance::record();
    try {
        return run(inheritance, std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count));
    } catch (std::invalid_argument const& error) {
        return fail(in_terms_of_options(error.what()), usage);
    } catch (std::system_error const& error) {
        return fail(error.what(), system_failed);
    } catch (std::exception const& error) {
        return fail(error.what(), system_failed);
    }
}
