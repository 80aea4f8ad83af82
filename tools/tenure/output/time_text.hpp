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

/** An instant as people and schedulers write it: `2026-01-31T02:00Z`, `2026-01-31T02:00:30Z`, or seconds since 1970 as
 * `@1767225600`. Unset for anything else, and before 1970. */
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_utc_time(std::string_view text);

/** An instant for people and programs: `2026-01-31T02:00:00Z`. */
[[nodiscard]] std::string utc_time(std::chrono::system_clock::time_point instant);

/** An instant for a person, in the time zone of this machine: `02:00:00`, behind its date if that is not obvious. */
[[nodiscard]] std::string local_time(std::chrono::system_clock::time_point instant, bool with_date = false);

} // namespace tenure::tool
