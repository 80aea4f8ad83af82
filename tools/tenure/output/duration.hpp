// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::tool
{

/** A duration as people write it: `500ms`, `5s`, `2m`, `1h`, `0`. Unset for anything else, for negative ones and for
 * more than a year. */
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/** A duration as a person reads it at a glance: `340 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`. */
[[nodiscard]] std::string describe(std::chrono::milliseconds duration);

} // namespace tenure::tool
