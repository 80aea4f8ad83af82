// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/suggestion.hpp"

#include <algorithm>
#include <cstddef>

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

} // namespace tenure::tool
