// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command_words.hpp"

#include "command_line/option_list.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace tenure::tool
{

namespace
{

/** The optimal string alignment distance: how many letters were inserted, left out, mistaken or swapped. */
std::size_t distance(std::string_view left, std::string_view right)
{
    auto const width = right.size() + 1;
    std::vector<std::size_t> cost((left.size() + 1) * width);
    auto const at = [&](std::size_t row, std::size_t column) -> std::size_t& { return cost[row * width + column]; };
    for (std::size_t row = 0; row <= left.size(); ++row)
        for (std::size_t column = 0; column <= right.size(); ++column) {
            if (row == 0 || column == 0) {
                at(row, column) = row + column;
                continue;
            }
            bool const same = left[row - 1] == right[column - 1];
            auto best =
                std::min({at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (same ? 0 : 1)});
            bool const swapped =
                row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1];
            if (swapped)
                best = std::min(best, at(row - 2, column - 2) + 1);
            at(row, column) = best;
        }
    return cost.back();
}

} // namespace

std::string suggestion_for(std::string_view word, std::vector<std::string> const& known)
{
    std::string nearest;
    // a third of the letters may be wrong, and one of a short word
    auto least = std::max<std::size_t>(word.size() / 3, 1) + 1;
    for (auto const& candidate : known)
        if (auto const here = distance(word, candidate); here < least) {
            least = here;
            nearest = candidate;
        }
    return nearest;
}

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

Invocation with_command(Invocation const& invocation, CLI::App const& options)
{
    auto words = options.remaining();
    if (!words.empty() && words.front().starts_with('-'))
        refuse_first_of(words, options);
    // one that comes later is the command's own
    if (!words.empty() && invocation.has_dashes)
        words.emplace_back("--");
    words.insert(words.end(), invocation.after_dashes.begin(), invocation.after_dashes.end());
    if (words.empty())
        throw std::invalid_argument(
            "no command to run: give it after the options (tenure " + options.get_name() + " --help has examples)");
    return {invocation.inheritance, std::move(words), true};
}

} // namespace tenure::tool
