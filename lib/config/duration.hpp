// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Durations as text, in URLs, messages and options of the tool, which cannot call functions that the library hides.
#pragma once

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure
{

/// in milliseconds, the largest first
inline constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> duration_units{
    {{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

/** Parses a duration as people write it: `500ms`, `5s`, `2m`, `1h`; nullopt for anything else. */
[[nodiscard]] inline std::optional<std::chrono::milliseconds> parse_duration(std::string_view text)
{
    auto const digits = std::min(text.find_first_not_of("0123456789"), text.size());
    auto const number = number_from<std::int64_t>(text.substr(0, digits));
    for (auto const& [unit, factor] : duration_units) {
        if (!number || text.substr(digits) != unit)
            continue;
        if (*number > std::numeric_limits<std::int64_t>::max() / 1'000'000 / factor)
            return std::nullopt; // would overflow in nanoseconds
        return std::chrono::milliseconds(*number * factor);
    }
    return std::nullopt;
}

/** Writes a duration in the largest unit that gives a whole number. */
[[nodiscard]] inline std::string duration_text(std::chrono::milliseconds duration)
{
    auto const count = duration.count();
    for (auto const& [unit, factor] : duration_units)
        if (count != 0 && count % factor == 0)
            return std::to_string(count / factor) + std::string(unit);
    return "0ms";
}

} // namespace tenure
