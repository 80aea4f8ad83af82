// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/option_list.hpp"

#include "output/text_layout.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace tenure::tool
{

namespace
{

/** CLI11 puts what it checks behind the name of the type, as in `N:UINT in [1 - 32]`. */
std::string value_name(CLI::Option const& option)
{
    if (option.get_type_size() == 0)
        return {};
    auto const type = option.get_type_name();
    return type.substr(0, type.find(':'));
}

OptionHelp help_for(CLI::Option const& option)
{
    OptionHelp result;
    for (auto const& name : option.get_snames())
        result.names.push_back("-" + name);
    for (auto const& name : option.get_lnames())
        result.names.push_back("--" + name);
    result.value = value_name(option);
    result.text = option.get_description();
    if (!option.get_default_str().empty())
        result.text += " (default: " + option.get_default_str() + ")";
    if (!option.get_envname().empty())
        result.text += " (default: the variable " + option.get_envname() + ")";
    result.group = option.get_group();
    result.repeats = option.get_expected_max() > 1;
    return result;
}

} // namespace

std::string OptionHelp::syntax() const
{
    auto const all = joined(names, ", ");
    return all + (all.empty() || value.empty() ? "" : " ") + value;
}

std::vector<std::string> OptionHelp::choices() const
{
    std::vector<std::string> result;
    if (value.find('|') == std::string::npos)
        return result;
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, '|');)
        result.push_back(word);
    return result;
}

std::string OptionHelp::brief() const
{
    std::size_t end = text.size();
    for (std::string_view const stop : {"; ", ", ", ": ", ". ", " ("})
        end = std::min(end, text.find(stop));
    return text.substr(0, end);
}

std::size_t count_arguments(CLI::App const& command)
{
    auto const options = options_of(command);
    return static_cast<std::size_t>(
        std::ranges::count_if(options, [](OptionHelp const& option) { return option.names.empty(); }));
}

std::vector<OptionHelp> options_of(CLI::App const& command)
{
    std::vector<OptionHelp> result;
    for (auto const* const option : command.get_options([](CLI::Option const*) { return true; }))
        if (!option->get_group().empty())
            result.push_back(help_for(*option));
    return result;
}

std::vector<CLI::App const*> commands_of(CLI::App const& program)
{
    return program.get_subcommands([](CLI::App const* command) { return !command->get_group().empty(); });
}

} // namespace tenure::tool
