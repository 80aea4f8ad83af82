// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/help.hpp"

#include "command_line/option_list.hpp"
#include "output/text_layout.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr std::size_t help_width = 80;
/// where meanings begin; a term that is too long for it has a line of its own
constexpr std::size_t widest_term = 24;

std::string paragraphs(std::string const& text)
{
    std::string result;
    for (auto const& paragraph : paragraphs_of(text))
        result += (result.empty() ? "" : "\n") + indented(wrapped(paragraph, help_width), 0);
    return result;
}

/** Terms on the left, their meanings in a column on the right. */
std::string columns(std::string const& heading, std::vector<CommandHelp::Entry> const& entries)
{
    if (entries.empty())
        return {};
    std::size_t widest = 0;
    for (auto const& [term, meaning] : entries)
        if (term.size() <= widest_term)
            widest = std::max(widest, term.size());
    auto const indent = widest + 4;
    auto result = "\n" + heading + ":\n";
    for (auto const& [term, meaning] : entries) {
        auto const lines = wrapped(meaning, help_width - indent);
        auto const block = indented(lines, indent);
        if (term.size() > widest)
            result += "  " + term + "\n" + (meaning.empty() ? "" : block);
        else
            result += "  " + term + block.substr(std::min(block.size() - 1, 2 + term.size()));
    }
    return result;
}

/** Options in the order of their definition, under the headings of their groups. */
std::string options_text(CLI::App const& command)
{
    std::vector<std::string> groups;
    for (auto const& option : options_of(command))
        if (std::ranges::find(groups, option.group) == groups.end())
            groups.push_back(option.group);
    std::string result;
    for (auto const& group : groups) {
        std::vector<CommandHelp::Entry> entries;
        for (auto const& option : options_of(command))
            if (option.group == group)
                entries.push_back({option.syntax(), option.text});
        result += columns(group, entries);
    }
    return result;
}

std::string commands_text(CLI::App const& program)
{
    std::vector<CommandHelp::Entry> entries;
    for (auto const* const command : commands_of(program))
        entries.push_back({command->get_name(), command->get_description()});
    return columns("Commands", entries);
}

class HelpFormatter : public CLI::Formatter
{
public:
    explicit HelpFormatter(CommandHelp help)
        : help_(std::move(help))
    {
    }

    std::string make_help(CLI::App const* command, std::string, CLI::AppFormatMode) const override
    {
        return "Usage: " + help_.usage + "\n\n" + paragraphs(help_.text) + commands_text(*command) +
               options_text(*command) + columns("Examples", help_.examples) +
               columns("Environment", help_.environment) + columns("Exit codes", help_.exit_codes);
    }

    [[nodiscard]] CommandHelp const& help() const noexcept { return help_; }

private:
    CommandHelp help_;
};

} // namespace

void describe_command(CLI::App& command, CommandHelp help)
{
    command.set_help_flag("-h,--help", "show this help");
    command.formatter(std::make_shared<HelpFormatter>(std::move(help)));
}

CommandHelp const* help_of(CLI::App const& command)
{
    auto const* const formatter = dynamic_cast<HelpFormatter const*>(command.get_formatter().get());
    return formatter == nullptr ? nullptr : &formatter->help();
}

} // namespace tenure::tool
