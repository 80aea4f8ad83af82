// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"
#include "store_under_attack.hpp"

#include "harness/redis_client.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** What a server has under all keys of the arena, in one step; empty if it refuses. `ahead`: nanoseconds by which its
 *  wall clock is ahead of CLOCK_BOOTTIME. @throws std::exception if the connection fails */
[[nodiscard]] std::optional<std::vector<KeyLook>>
look_at(test::RedisClient& client, Arena const& arena, std::int64_t ahead);

/** Keys of a server that have no ttl. */
[[nodiscard]] std::vector<std::string> endless_keys_of(test::RedisClient& client);

} // namespace tenure::faults
