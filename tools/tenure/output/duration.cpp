// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/duration.hpp"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

constexpr std::int64_t longest = std::int64_t{366} * 24 * 3600 * 1000;

std::optional<std::int64_t> unit_of(std::string_view name)
{
    if (name == "ms")
        return 1;
    if (name == "s")
        return 1000;
    if (name == "m")
        return 60 * 1000;
    if (name == "h")
        return 3600 * 1000;
    return std::nullopt;
}

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
    std::int64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || number < 0)
        return std::nullopt;
    auto const name = std::string_view(rest, static_cast<std::size_t>(end - rest));
    if (name.empty() && number == 0)
        return milliseconds{0};
    auto const unit = unit_of(name);
    if (!unit || number > longest / *unit)
        return std::nullopt;
    return milliseconds{number * *unit};
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
