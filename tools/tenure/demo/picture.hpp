// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/live_screen.hpp"

#include <string>
#include <vector>

namespace tenure::tool
{

/** The data of one picture of the demo. */
struct DemoPicture {
    std::string title;
    /// tables, the headings first
    std::vector<std::string> slots;
    std::vector<std::string> workers;
    /// the newest last
    std::vector<std::string> events;
};

/** Events broken into lines of this width, each line behind the column of the time. */
[[nodiscard]] std::vector<std::string> lines_of_events(std::vector<std::string> const& events, std::size_t width);

/** The picture as lines that fit the screen. The tables stand side by side if it is wide enough. If it is too low, old
 * events go first, and the tables say how many rows they leave out. */
[[nodiscard]] std::vector<std::string> arranged(DemoPicture const& picture, ScreenSize size);

} // namespace tenure::tool
