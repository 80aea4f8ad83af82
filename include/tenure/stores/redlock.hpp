// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/redis.hpp>

#include <vector>

namespace tenure
{

/** Independent Redis or Valkey servers, of which a majority grants. They must not replicate each other, and should run
 * on separate machines. */
struct RedlockConfig {
    /// an odd number, 3 and up, all different; the same list in every program that shares the keys
    std::vector<RedisConfig> servers = {};
};

/** A majority of independent Redis (6 or newer) or Valkey servers. Returns at once; connects when first needed.
 *
 *  @par Guarantees  The guarantees of one server, while a majority of the servers keeps its data and their clocks run
 * at the same rate. A minority may be stopped, cut off or restarted at any time. A server that lost its data must stay
 *    unavailable for the longest ttl. A majority agrees on fencing tokens, which increase under the same condition
 *    (docs/users/guarantees.md).
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, RedlockConfig config, StoreOptions options);

} // namespace tenure
