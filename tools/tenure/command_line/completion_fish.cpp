// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/texts.hpp"

#include "command_line/option_list.hpp"
#include "output/text_layout.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace tenure::tool
{

namespace
{

std::string fish_quoted(std::string_view text)
{
    std::string result = "'";
    for (auto const character : text) {
        if (character == '\'' || character == '\\')
            result += '\\';
        result += character;
    }
    return result + "'";
}

/** One line for one option, where the condition holds. */
std::string fish_option(std::string const& condition, OptionHelp const& option)
{
    auto line = "complete -c tenure -n " + fish_quoted(condition);
    for (auto const& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    auto const words = joined(option.choices(), " ");
    // the value of an option is not another word of the command
    if (!option.value.empty() && !option.names.empty())
        line += " -x";
    if (!words.empty())
        line += " -a " + fish_quoted(words);
    return line + " -d " + fish_quoted(option.brief()) + "\n";
}

std::string fish_options(std::string const& condition, CLI::App const& command)
{
    std::string result;
    for (auto const& option : options_of(command))
        result += fish_option(condition, option);
    return result;
}

/** The command that a command runs: what stands behind it and its options. */
std::string fish_subcommand(std::string const& condition, CLI::App const& command)
{
    // fish takes long words that come first for its own options
    std::string valued = "-";
    for (auto const& option : options_of(command))
        for (auto const& name : option.names)
            valued += option.value.empty() ? "" : " " + name;
    return "complete -c tenure -n " + fish_quoted(condition) +
           " -x -a '(__fish_complete_subcommand --fcs-skip=" + std::to_string(2 + count_arguments(command)) + " " +
           valued + ")'\n";
}

} // namespace

std::string fish_completion(CLI::App const& program)
{
    std::string const no_command = "__fish_use_subcommand";
    auto result = "# fish completion of tenure, made by `tenure completion fish`\ncomplete -c tenure -f\n" +
                  fish_options(no_command, program);
    for (auto const* const command : commands_of(program)) {
        auto const condition = "__fish_seen_subcommand_from " + command->get_name();
        result += "complete -c tenure -n " + no_command + " -a " + command->get_name() + " -d " +
                  fish_quoted(command->get_description()) + "\n" + fish_options(condition, *command);
        if (command->get_prefix_command())
            result += fish_subcommand(condition, *command);
    }
    return result;
}

} // namespace tenure::tool
