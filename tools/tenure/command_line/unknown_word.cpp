// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/unknown_word.hpp"

#include "command_line/option_list.hpp"
#include "command_line/suggestion.hpp"

#include <CLI/CLI.hpp>

#include <stdexcept>

namespace tenure::tool
{

void refuse_first_of(std::vector<std::string> const& words, CLI::App const& command)
{
    auto const where = "tenure" + (command.get_parent() == nullptr ? "" : " " + command.get_name());
    auto const advice = " (" + where + " --help lists the options)";
    auto const first = words.empty() ? std::string{} : words.front();
    if (!first.starts_with('-'))
        throw std::invalid_argument(where + " takes no word that is not an option" + advice);
    auto const name = first.substr(0, first.find('='));
    std::vector<std::string> known;
    for (auto const& option : options_of(command))
        known.insert(known.end(), option.names.begin(), option.names.end());
    auto const meant = name.starts_with("--") ? suggestion_for(name, known) : std::string{};
    throw std::invalid_argument(
        "there is no option " + name + (meant.empty() ? "" : "; did you mean " + meant + "?") + advice);
}

} // namespace tenure::tool
