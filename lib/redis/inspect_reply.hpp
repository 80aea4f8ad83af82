// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "resp/value.hpp"

#include <tenure/backend.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** Reads the inspecting script's answer (see scripts.hpp) about the next `count` keys and appends a state for each.
 * False, and nothing appended, if it makes no sense. */
[[nodiscard]] bool read_key_states(resp::Value const& reply, std::uint32_t count, std::vector<KeyState>& states);

/** True for an owner as this library writes it: `<worker>/<32 hexadecimal digits>`. */
[[nodiscard]] bool is_own_kind_of_owner(std::string_view owner) noexcept;

} // namespace tenure::redis
