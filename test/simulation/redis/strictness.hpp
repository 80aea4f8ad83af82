// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <string_view>

namespace tenure::simulation
{

/** What a server refuses that Redis itself does. Keys that are not declared are refused in any case. */
enum class Strictness : std::uint8_t {
    as_redis,
    /// a script after MULTI, when it is queued
    queueing,
    /// the same, when EXEC runs it
    exec,
    /// PUBLISH in a script
    publish,
    /// scripts whose text does not pass `passes_check`; and PUBLISH in a script
    text
};
[[nodiscard]] std::string_view describe(Strictness strictness) noexcept;

/** What is known of the check of ApsaraDB and Tair: each command of a script is a literal, each key is `KEYS[i]`, and
 *  nothing is published. */
[[nodiscard]] bool passes_check(std::string_view script);

} // namespace tenure::simulation
