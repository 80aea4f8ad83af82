// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tenure::mutants
{

/** The number of the planted bug that is active, 0 for none. Set before any thread starts, and constant from then on.
 */
inline int active_number = 0;

/** Whether planted bug `number` is to strike (plant.py writes the calls). */
[[nodiscard]] inline bool active(int number) noexcept
{
    return active_number == number;
}

/** The text with `to` in each place of `from`, of which there must be one at least: for statements of a server. */
[[nodiscard]] inline std::string with(std::string text, std::string_view from, std::string_view to)
{
    auto at = text.find(from);
    if (at == std::string::npos) {
        std::fprintf(stderr, "planted bug: there is no %s\n", std::string(from).c_str());
        std::_Exit(99);
    }
    for (; at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

} // namespace tenure::mutants
