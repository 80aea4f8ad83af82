// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for the version of a server, and for INFO.
#include "server_info.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace tenure::redis
{

namespace
{

/** Takes the next line off the text. The name is empty for a heading or an unreadable line. */
std::pair<std::string_view, std::string_view> take_line(std::string_view& text)
{
    auto const end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    auto const colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#'))
        return {};
    return {line.substr(0, colon), line.substr(colon + 1)};
}

} // namespace

void ServerVersion::read(std::string_view text)
{
    text_ = text;
    char const* const end = text_.data() + text_.size();
    auto const [dot, error] = std::from_chars(text_.data(), end, major_);
    if (error == std::errc{} && dot != end && *dot == '.')
        std::from_chars(dot + 1, end, minor_);
}

std::map<std::string, std::string, std::less<>> read_info(std::string_view text)
{
    std::map<std::string, std::string, std::less<>> lines;
    while (!text.empty())
        if (auto const [name, value] = take_line(text); !name.empty())
            lines.emplace(name, value);
    return lines;
}

std::string_view info_line(std::string_view text, std::string_view name)
{
    while (!text.empty())
        if (auto const line = take_line(text); line.first == name)
            return line.second;
    return {};
}

} // namespace tenure::redis
