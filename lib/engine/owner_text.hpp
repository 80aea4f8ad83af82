// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/owner.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace tenure
{

/** Checks a note: printable ASCII, at most 128 bytes.
 *  @throws std::invalid_argument naming field and rule */
void check_note(std::string const& field, std::string_view note);

/** Makes the common prefix of the owners of one worker and note.
 *  @param note  empty: none */
[[nodiscard]] std::string owner_prefix(std::string_view worker, std::string_view note);

/// 128 bits of `Runtime::random_bytes`
using OwnerDigits = std::array<std::byte, 16>;

/** Makes one owner.
 *  @param random  drawn for this owner alone */
[[nodiscard]] std::string
make_owner(std::string_view prefix, std::chrono::sys_seconds claimed_at, OwnerDigits const& random);

} // namespace tenure
