// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenure
{

/** What stands under a key that was released and is not to be granted yet (`SlotPoolConfig::reuse_after`). It is
 * no owner, since no worker may be called `resting`. */
[[nodiscard]] inline std::string resting_value(std::string_view owner)
{
    return "resting/" + std::string(owner);
}

/** The owner that held a resting key last; unset if the value is not that of a resting key. */
[[nodiscard]] inline std::optional<std::string_view> last_owner_of(std::string_view value) noexcept
{
    constexpr std::string_view mark = "resting/";
    if (!value.starts_with(mark) || value.find('/', mark.size()) == std::string_view::npos)
        return std::nullopt;
    return value.substr(mark.size());
}

} // namespace tenure
