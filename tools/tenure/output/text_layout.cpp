// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/text_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr char escape = '\x1b';
/// more names than that are no short answer
constexpr std::ptrdiff_t most_named = 3;

/** The number of bytes of the control sequence that begins here. */
std::size_t sequence_length(std::string_view text)
{
    auto const end = text.find('m');
    return end == std::string_view::npos ? text.size() : end + 1;
}

} // namespace

std::string joined(std::vector<std::string> const& texts, std::string_view separator)
{
    std::string result;
    for (auto const& text : texts)
        result.append(&text == &texts.front() ? "" : separator).append(text);
    return result;
}

std::string listed(std::vector<std::string> const& items)
{
    auto const left_out = std::ssize(items) - most_named;
    if (left_out <= 0)
        return joined(items, ", ");
    auto const named = std::vector<std::string>(items.begin(), items.end() - left_out);
    return joined(named, ", ") + ", ... " + std::to_string(left_out) + " more";
}

std::vector<std::string> paragraphs_of(std::string_view text)
{
    std::vector<std::string> paragraphs;
    for (std::size_t begin = 0; begin < text.size();) {
        auto const end = std::min(text.find("\n\n", begin), text.size());
        paragraphs.emplace_back(text.substr(begin, end - begin));
        begin = end + 2;
    }
    return paragraphs;
}

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

std::size_t visible_width(std::string_view line)
{
    std::size_t width = 0;
    while (!line.empty()) {
        bool const is_sequence = line.front() == escape;
        width += is_sequence ? 0 : 1;
        line.remove_prefix(is_sequence ? sequence_length(line) : 1);
    }
    return width;
}

std::string cropped(std::string const& line, std::size_t width)
{
    if (visible_width(line) <= width)
        return line;
    std::string result;
    bool has_color = false;
    auto rest = std::string_view(line);
    while (!rest.empty() && (width > 0 || rest.front() == escape)) {
        bool const is_sequence = rest.front() == escape;
        auto const length = is_sequence ? sequence_length(rest) : 1;
        has_color = has_color || is_sequence;
        width -= is_sequence ? 0 : 1;
        result += rest.substr(0, length);
        rest.remove_prefix(length);
    }
    return has_color ? result + "\x1b[0m" : result;
}

std::string shortened(std::string const& text, std::size_t width)
{
    constexpr std::string_view dots = "...";
    if (text.size() <= width)
        return text;
    if (width <= dots.size())
        return text.substr(0, width);
    auto const kept = width - dots.size();
    return text.substr(0, (kept + 1) / 2).append(dots) + text.substr(text.size() - kept / 2);
}

std::vector<std::string> fitted(std::vector<std::string> lines, std::size_t rows)
{
    if (lines.size() <= rows || rows == 0) {
        lines.resize(std::min(lines.size(), rows));
        return lines;
    }
    auto const hidden = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back("... " + std::to_string(hidden) + " more");
    return lines;
}

std::vector<std::string>
beside(std::vector<std::string> const& left, std::vector<std::string> const& right, std::size_t gap)
{
    auto const column = widest(left) + gap;
    auto result = left;
    result.resize(std::max(left.size(), right.size()));
    for (std::size_t i = 0; i < right.size(); ++i)
        result[i] += std::string(column - visible_width(result[i]), ' ') + right[i];
    return result;
}

std::size_t widest(std::vector<std::string> const& lines)
{
    std::size_t width = 0;
    for (auto const& line : lines)
        width = std::max(width, visible_width(line));
    return width;
}

} // namespace tenure::tool
