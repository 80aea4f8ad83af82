// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/time_text.hpp"

#include <config/duration.hpp>
#include <config/number_from.hpp>

#include <cstdint>
#include <ctime>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

constexpr milliseconds longest = std::chrono::hours{24} * 366;

std::string two_digits(long long value)
{
    return value < 10 ? "0" + std::to_string(value) : std::to_string(value);
}

/// 9999-12-31T23:59:59Z: later years have five digits
constexpr std::int64_t last_second = 253'402'300'799;

/** All of the text as a number without a sign. */
std::optional<std::int64_t> number_in(std::string_view text)
{
    return text.starts_with('-') ? std::nullopt : number_from<std::int64_t>(text);
}

/** The two digits at the position, below a limit. */
std::optional<std::int64_t> two_digits(std::string_view text, std::size_t position, std::int64_t limit)
{
    auto const number = number_in(text.substr(position, 2));
    return number && *number < limit ? number : std::nullopt;
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
        return std::to_string(ms) + " ms";
    if (ms < 60'000)
        return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
    auto const seconds = ms / 1000;
    if (seconds < 3600)
        return std::to_string(seconds / 60) + " min " + two_digits(seconds % 60) + " s";
    if (seconds < 24LL * 3600)
        return std::to_string(seconds / 3600) + " h " + two_digits(seconds % 3600 / 60) + " min";
    return std::to_string(seconds / (24LL * 3600)) + " d " + std::to_string(seconds % (24LL * 3600) / 3600) + " h";
}

std::optional<std::chrono::sys_seconds> parse_utc_time(std::string_view text)
{
    if (text.starts_with('@')) {
        auto const seconds = number_in(text.substr(1));
        if (!seconds || *seconds > last_second)
            return std::nullopt;
        return std::chrono::sys_seconds(std::chrono::seconds(*seconds));
    }
    // YYYY-MM-DDTHH:MM[:SS]Z
    bool const has_seconds = text.size() == 20;
    bool const has_form = (has_seconds || text.size() == 17) && text[4] == '-' && text[7] == '-' && text[10] == 'T' &&
                          text[13] == ':' && (!has_seconds || text[16] == ':') && text.back() == 'Z';
    if (!has_form)
        return std::nullopt;
    auto const year = number_in(text.substr(0, 4));
    auto const month = two_digits(text, 5, 13);
    auto const day = two_digits(text, 8, 32);
    auto const hour = two_digits(text, 11, 24);
    auto const minute = two_digits(text, 14, 60);
    auto const second = has_seconds ? two_digits(text, 17, 60) : std::optional<std::int64_t>(0);
    if (!year || *year < 1970 || !month || !day || !hour || !minute || !second)
        return std::nullopt;
    auto const date = std::chrono::year_month_day(
        std::chrono::year(static_cast<int>(*year)), std::chrono::month(static_cast<unsigned>(*month)),
        std::chrono::day(static_cast<unsigned>(*day)));
    if (!date.ok())
        return std::nullopt;
    return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
           std::chrono::seconds(*second);
}

std::string utc_time(std::chrono::system_clock::time_point instant)
{
    auto const seconds = std::chrono::system_clock::to_time_t(instant);
    std::tm parts = {};
    ::gmtime_r(&seconds, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string local_time(std::chrono::system_clock::time_point instant, bool with_date)
{
    auto const seconds = std::chrono::system_clock::to_time_t(instant);
    std::tm parts = {};
    ::localtime_r(&seconds, &parts);
    char text[64];
    auto const size = with_date ? std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)
                                : std::strftime(text, sizeof text, "%H:%M:%S", &parts);
    return {text, size};
}

} // namespace tenure::tool
