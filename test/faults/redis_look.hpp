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

/** The content of one key of a server. */
struct KeyContent {
    /// unset: the key is not there
    std::optional<std::string> value;
    /// in ms of the server's wall clock; -1: never
    std::int64_t expires_at = 0;
    /// of the key's own fence: the last one that the server granted or accepted, 0 if it knows none
    std::uint64_t fencing_token = 0;
};

/** Where fencing tokens come from. */
enum class Fences {
    /// one counter for all keys tells nothing of one
    counter,
    /// several servers that grant together keep a fence for each key (docs/integrators/redlock.md)
    of_each_key
};

/** The contents of the keys of these cells, read in one step; empty if the server refuses.
 *  @throws std::exception if the connection fails */
[[nodiscard]] std::optional<std::vector<KeyContent>> read_keys(
    test::RedisClient& client, Arena const& arena, std::vector<std::uint32_t> const& cells,
    Fences fences = Fences::counter);

/** Of a server with one counter of tokens. `ahead`: nanoseconds by which the server's wall clock is ahead of
 * CLOCK_BOOTTIME. */
[[nodiscard]] KeyLook look_of(KeyContent const& content, std::int64_t ahead);

/** By how much the wall clock of this machine is ahead of CLOCK_BOOTTIME, in ns. */
[[nodiscard]] std::int64_t wall_clock_ahead();

[[nodiscard]] std::vector<std::uint32_t> all_cells(Arena const& arena);

/** Keys of a server that have no ttl, and should have one: all but the counters and markers that stay for ever
 * (docs/integrators/redis-protocol.md). */
[[nodiscard]] std::vector<std::string> endless_keys_of(test::RedisClient& client);

} // namespace tenure::faults
