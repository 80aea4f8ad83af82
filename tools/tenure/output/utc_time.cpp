// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/utc_time.hpp"

#include <charconv>
#include <cstdint>
#include <ctime>
#include <system_error>

namespace tenure::tool
{

namespace
{

/// 9999-12-31T23:59:59Z: later years have five digits
constexpr std::int64_t last_second = 253'402'300'799;

/** All of the text as a number. */
std::optional<std::int64_t> number_in(std::string_view text)
{
    std::int64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || text.front() == '-')
        return std::nullopt;
    return number;
}

/** The two digits at the position, below a limit. */
std::optional<std::int64_t> two_digits(std::string_view text, std::size_t position, std::int64_t limit)
{
    auto const number = number_in(text.substr(position, 2));
    return number && *number < limit ? number : std::nullopt;
}

} // namespace

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

} // namespace tenure::tool
