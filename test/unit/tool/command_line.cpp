// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The command line's own definitions against what is made of them.
#include "command_line/help.hpp"
#include "command_line/option_list.hpp"
#include "command_line/program.hpp"
#include "command_line/texts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace tenure::tool;
using Catch::Matchers::ContainsSubstring;

namespace
{

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

/** As the manual page writes it. */
std::string with_hyphens(std::string const& text)
{
    std::string result;
    for (auto const character : text)
        result += (character == '-' ? "\\" : "") + std::string(1, character);
    return result;
}

bool names_long_option(std::string const& fish, std::string const& command, std::string const& name)
{
    return std::ranges::any_of(lines_of(fish), [&](std::string const& line) {
        return line.find("from " + command + "'") != std::string::npos &&
               line.find(" -l " + name + " ") != std::string::npos;
    });
}

} // namespace

TEST_CASE("every command has a help with examples and exit codes, no wider than 80 columns", "[tool]")
{
    Program const program;
    auto const commands = commands_of(program.options());
    REQUIRE(commands.size() == 11);
    for (auto const* const command : commands) {
        auto const* const help = help_of(*command);
        REQUIRE(help != nullptr);
        CHECK_FALSE(help->examples.empty());
        CHECK_FALSE(help->exit_codes.empty());
        for (auto const& line : lines_of(command->help())) {
            INFO(line);
            bool const literal = line.starts_with("Usage: ") || line.starts_with("  tenure ");
            CHECK((literal || line.size() <= 80));
        }
    }
}

TEST_CASE("help, manual page and completions know every command and every option", "[tool]")
{
    Program const program;
    auto const man = man_page(program.options());
    auto const bash = bash_completion(program.options());
    auto const zsh = zsh_completion(program.options());
    auto const fish = fish_completion(program.options());
    for (auto const* const command : commands_of(program.options())) {
        auto const& name = command->get_name();
        CHECK_THAT(man, ContainsSubstring(".SS " + name + "\n"));
        CHECK_THAT(bash, ContainsSubstring("    " + name + ")\n"));
        CHECK_THAT(zsh, ContainsSubstring("'" + name + ":"));
        CHECK_THAT(fish, ContainsSubstring(" -a " + name + " "));
        for (auto const* const option : command->get_options({}))
            for (auto const& word : option->get_lnames()) {
                INFO(name << " --" << word);
                CHECK_THAT(command->help(), ContainsSubstring("--" + word));
                CHECK_THAT(man, ContainsSubstring("\\fB" + with_hyphens("--" + word) + "\\fR"));
                CHECK_THAT(bash, ContainsSubstring("--" + word));
                CHECK_THAT(zsh, ContainsSubstring("--" + word));
                CHECK(names_long_option(fish, name, word));
            }
    }
}

TEST_CASE("internal commands are in no help and no completion", "[tool]")
{
    Program const program;
    for (auto const& text :
         {program.options().help(), man_page(program.options()), bash_completion(program.options()),
          zsh_completion(program.options()), fish_completion(program.options())})
        CHECK_THAT(text, !ContainsSubstring("demo-worker") && !ContainsSubstring("man-page"));
}
