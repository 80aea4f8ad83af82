// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/wire/value.hpp"

#include <tenure/backend/backend.hpp>

#include <cstdint>
#include <vector>

namespace tenure::redis
{

/** Reads the inspecting script's answer (see scripts.hpp) about the next `count` keys and appends a state for each.
 * False, and nothing appended, if it makes no sense. */
[[nodiscard]] bool read_key_states(resp::Value const& reply, std::uint32_t count, std::vector<KeyState>& states);

} // namespace tenure::redis
