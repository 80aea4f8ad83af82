// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

// Values of a key whose claim has ended while the key stays taken. They differ from every owner, because no worker may
// be called `resting` or `kept`.
namespace tenure
{

/** The value of a key that was released into quarantine (`SlotPoolConfig::reuse_after`). */
[[nodiscard]] inline std::string resting_value(std::string_view owner)
{
    return "resting/" + std::string(owner);
}

/** The value of a key that its holder left to expire (`Lease::async_detach`). */
[[nodiscard]] inline std::string kept_value(std::string_view owner)
{
    return "kept/" + std::string(owner);
}

struct EndedClaim {
    /// resting or kept
    KeyState::Kind kind;
    std::string_view last_owner;
};

/** Nullopt if the value is not that of an ended claim. */
[[nodiscard]] inline std::optional<EndedClaim> read_ended_claim(std::string_view value) noexcept
{
    auto const slash = value.find('/');
    if (slash == std::string_view::npos || value.find('/', slash + 1) == std::string_view::npos)
        return std::nullopt;
    auto const mark = value.substr(0, slash);
    auto const owner = value.substr(slash + 1);
    if (mark == "resting")
        return EndedClaim{KeyState::Kind::resting, owner};
    if (mark == "kept")
        return EndedClaim{KeyState::Kind::kept, owner};
    return std::nullopt;
}

} // namespace tenure
