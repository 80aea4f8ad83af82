// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command.hpp"
#include "exit_code.hpp"
#include "inheritance.hpp"

#include <tenure/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
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
std::vector<std::string> cut_after_dashes(std::vector<std::string>& words)
{
    auto const dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end())
        return {};
    auto result = std::vector<std::string>(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return result;
}

int run(Inheritance const& inheritance, std::vector<std::string> words)
{
    auto const invocation = Invocation{inheritance, cut_after_dashes(words)};
    CLI::App program(description, "tenure");
    program.footer(footer);
    program.set_version_flag("--version", std::string(tenure::version()));
    program.require_subcommand(1);
    auto const commands = {add_run_command(program),   add_status_command(program), add_doctor_command(program),
                           add_evict_command(program), add_demo_command(program),   add_demo_worker_command(program)};
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
        return fail(error.what(), usage);
    } catch (std::system_error const& error) {
        return fail(error.what(), system_failed);
    } catch (std::exception const& error) {
        return fail(error.what(), system_failed);
    }
}
