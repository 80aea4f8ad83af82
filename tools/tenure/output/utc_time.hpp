// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::tool
{

/** An instant as people and schedulers write it: `2026-01-31T02:00Z`, `2026-01-31T02:00:30Z`, or seconds since 1970 as
 * `@1767225600`. Unset for anything else, and before 1970. */
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_utc_time(std::string_view text);

/** The same for people: `2026-01-31T02:00:00Z`. */
[[nodiscard]] std::string utc_time(std::chrono::system_clock::time_point instant);

} // namespace tenure::tool
