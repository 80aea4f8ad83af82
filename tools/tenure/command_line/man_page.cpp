// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/texts.hpp"

#include "command_line/help.hpp"
#include "command_line/option_list.hpp"
#include "output/text_layout.hpp"

#include <tenure/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

namespace
{

using Entries = std::vector<CommandHelp::Entry>;

/** A line of text that can be no request, with its hyphens as they are typed. */
std::string roff(std::string_view text)
{
    std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    for (auto const character : text) {
        if (character == '\\')
            result += "\\e";
        else if (character == '-')
            result += "\\-";
        else
            result += character;
    }
    return result;
}

std::string roff_paragraphs(std::string const& text)
{
    std::string result;
    for (auto const& paragraph : paragraphs_of(text))
        result += ".PP\n" + roff(paragraph) + "\n";
    return result;
}

std::string entry(std::string const& term, std::string const& meaning)
{
    return ".TP\n" + term + "\n" + roff(meaning) + "\n";
}

std::string bold(std::string const& text)
{
    return "\\fB" + roff(text) + "\\fR";
}

std::string option_entry(OptionHelp const& option)
{
    std::vector<std::string> names;
    for (auto const& name : option.names)
        names.push_back(bold(name));
    auto term = joined(names, ", ");
    if (!option.value.empty())
        term += (term.empty() ? "\\fI" : " \\fI") + roff(option.value) + "\\fR";
    return entry(term, option.text);
}

std::string entries(std::string const& heading, Entries const& list)
{
    if (list.empty())
        return {};
    auto result = ".PP\n" + heading + ":\n";
    for (auto const& [term, meaning] : list)
        result += entry(bold(term), meaning);
    return result;
}

bool is_common(OptionHelp const& option)
{
    return option.group == common_options_group;
}

/** Whether an option is described with its command. */
bool is_own(OptionHelp const& option)
{
    return !is_common(option) && option.names.size() + option.value.size() > 0 &&
           std::ranges::find(option.names, "--help") == option.names.end();
}

std::string option_entries(CLI::App const& command, bool (*is_shown)(OptionHelp const&))
{
    std::string result;
    for (auto const& option : options_of(command))
        result += is_shown(option) ? option_entry(option) : "";
    return result;
}

std::string section(CLI::App const& command, CommandHelp const& help)
{
    return ".SS " + command.get_name() + "\n" + bold(help.usage) + "\n" + roff_paragraphs(help.text) +
           option_entries(command, is_own) + entries("Examples", help.examples) +
           entries("Exit codes", help.exit_codes);
}

} // namespace

std::string man_page(CLI::App const& program)
{
    auto const help = *help_of(program);
    auto result = ".TH TENURE 1 \"\" \"tenure " + std::string(version()) + "\" \"User Commands\"\n.nh\n.ad l\n" +
                  ".SH NAME\ntenure \\- " + roff(program.get_description()) + "\n.SH SYNOPSIS\n" + bold(help.usage) +
                  "\n.SH DESCRIPTION\n" + roff_paragraphs(help.text) + entries("Examples", help.examples) +
                  ".SH OPTIONS\n" + option_entries(program, [](OptionHelp const&) { return true; }) + ".PP\n" +
                  roff(common_options_group) + ":\n" +
                  // many commands have them: as the first one describes them
                  option_entries(*commands_of(program).front(), is_common) + ".SH COMMANDS\n";
    for (auto const* const command : commands_of(program))
        if (auto const* const of_command = help_of(*command))
            result += section(*command, *of_command);
    result += ".SH ENVIRONMENT\n";
    for (auto const& [name, meaning] : help.environment)
        result += entry(bold(name), meaning);
    return result;
}

} // namespace tenure::tool
