// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "text_layout.hpp"

#include <sstream>
#include <utility>

namespace tenure::tool
{

std::vector<std::string> wrapped(std::string_view text, std::size_t width)
{
    std::vector<std::string> lines;
    std::string line;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + 1 + word.size() > width)
            lines.push_back(std::exchange(line, {}));
        line += (line.empty() ? "" : " ") + word;
    }
    lines.push_back(std::move(line));
    return lines;
}

std::string indented(std::vector<std::string> const& lines, std::size_t indent)
{
    std::string result;
    for (auto const& line : lines)
        result += std::string(line.empty() ? 0 : indent, ' ') + line + "\n";
    return result;
}

} // namespace tenure::tool
