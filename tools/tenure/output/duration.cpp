// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/duration.hpp"

#include <config/duration.hpp>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

constexpr milliseconds longest = std::chrono::hours{24} * 366;

std::string number(long long value)
{
    return std::to_string(value);
}

std::string two_digits(long long value)
{
    return value < 10 ? "0" + number(value) : number(value);
}

} // namespace

std::optional<milliseconds> parse_duration(std::string_view text)
{
    if (text == "0")
        return milliseconds{0};
    auto const duration = tenure::parse_duration(text);
    return duration && *duration <= longest ? duration : std::nullopt;
}

std::string describe(milliseconds duration)
{
    auto const ms = static_cast<long long>(duration.count());
    if (ms < 1000)
        return number(ms) + " ms";
    if (ms < 60'000)
        return number(ms / 1000) + "." + number(ms % 1000 / 100) + " s";
    auto const seconds = ms / 1000;
    if (seconds < 3600)
        return number(seconds / 60) + " min " + two_digits(seconds % 60) + " s";
    if (seconds < 24LL * 3600)
        return number(seconds / 3600) + " h " + two_digits(seconds % 3600 / 60) + " min";
    return number(seconds / (24LL * 3600)) + " d " + number(seconds % (24LL * 3600) / 3600) + " h";
}

} // namespace tenure::tool
