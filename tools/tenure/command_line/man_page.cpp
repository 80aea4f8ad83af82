// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/man_page.hpp"

#include "command_line/help.hpp"
#include "command_line/option_list.hpp"

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

std::string paragraph(std::string const& text)
{
    std::string result = ".PP\n";
    for (std::size_t begin = 0; begin < text.size();) {
        auto const end = std::min(text.find("\n\n", begin), text.size());
        result += (begin == 0 ? "" : ".PP\n") + roff(text.substr(begin, end - begin)) + "\n";
        begin = end + 2;
    }
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
    std::string term;
    for (auto const& name : option.names)
        term += (term.empty() ? "" : ", ") + bold(name);
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

std::string section(CLI::App const& command, CommandHelp const& help, std::string const& common_group)
{
    auto result = ".SS " + command.get_name() + "\n" + bold(help.usage) + "\n" + paragraph(help.text);
    for (auto const& option : options_of(command))
        if (option.group != common_group && option.names.size() + option.value.size() > 0 &&
            std::ranges::find(option.names, "--help") == option.names.end())
            result += option_entry(option);
    return result + entries("Examples", help.examples) + entries("Exit codes", help.exit_codes);
}

/** The options that many commands have: under their heading, as the first of these commands describes them. */
std::string common_section(CLI::App const& program, std::string const& group)
{
    for (auto const* const command : commands_of(program)) {
        std::string result;
        for (auto const& option : options_of(*command))
            if (option.group == group)
                result += option_entry(option);
        if (!result.empty())
            return result;
    }
    return {};
}

} // namespace

std::string man_page(CLI::App const& program)
{
    auto const help = *help_of(program);
    std::string const group = common_options_group;
    auto result = ".TH TENURE 1 \"\" \"tenure " + std::string(version()) + "\" \"User Commands\"\n.nh\n.ad l\n" +
                  ".SH NAME\ntenure \\- " + roff(program.get_description()) + "\n.SH SYNOPSIS\n" + bold(help.usage) +
                  "\n.SH DESCRIPTION\n" + paragraph(help.text) + entries("Examples", help.examples) + ".SH OPTIONS\n";
    for (auto const& option : options_of(program))
        result += option_entry(option);
    result += ".PP\n" + roff(group) + ":\n" + common_section(program, group) + ".SH COMMANDS\n";
    for (auto const* const command : commands_of(program))
        if (auto const* const of_command = help_of(*command))
            result += section(*command, *of_command, group);
    result += ".SH ENVIRONMENT\n";
    for (auto const& [name, meaning] : help.environment)
        result += entry(bold(name), meaning);
    return result;
}

} // namespace tenure::tool
