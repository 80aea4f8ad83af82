// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "node_value.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace tenure::zookeeper
{

namespace
{

constexpr std::string_view ttl_field = "ttl=";

} // namespace

std::string encode(std::string_view owner, std::optional<std::chrono::milliseconds> ttl)
{
    std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> digits;
    std::string data;
    data.reserve(owner.size() + ttl_field.size() + digits.size() + 2);
    data.append(owner).push_back('\n');
    if (ttl) {
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), ttl->count()).ptr;
        data.append(ttl_field).append(digits.data(), end).push_back('\n');
    }
    return data;
}

NodeValue decode(std::string_view data)
{
    auto const end = data.find('\n');
    NodeValue value{std::string(data.substr(0, end)), std::nullopt};
    if (end == std::string_view::npos)
        return value;
    auto line = data.substr(end + 1);
    line = line.substr(0, line.find('\n'));
    if (!line.starts_with(ttl_field))
        return value;
    line.remove_prefix(ttl_field.size());
    std::uint32_t milliseconds = 0;
    auto const [rest, error] = std::from_chars(line.data(), line.data() + line.size(), milliseconds);
    if (error == std::errc{} && rest == line.data() + line.size() && milliseconds > 0)
        value.ttl = std::chrono::milliseconds(milliseconds);
    return value;
}

} // namespace tenure::zookeeper
