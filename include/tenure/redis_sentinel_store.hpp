// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/redis_sentinel_config.hpp>
#include <tenure/store.hpp>

#include <utility>

namespace tenure
{

/** The master that Redis or Valkey sentinels name, and whichever server takes its place. Returns at once; connects when
 *  first needed.
 *
 *  A failover keeps a lease whose last write had reached the new master, and loses it otherwise: replication is
 *  asynchronous. Fencing tokens increase over failovers (docs/guarantees.md).
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_redis_sentinel(asio::any_io_executor executor, RedisSentinelConfig config, StoreOptions options);

/** The same with default options. Not a default argument: g++ 12 destroys one twice where the call holds a `co_await`.
 */
[[nodiscard]] inline Store open_redis_sentinel(asio::any_io_executor executor, RedisSentinelConfig config)
{
    return open_redis_sentinel(std::move(executor), std::move(config), StoreOptions{});
}

} // namespace tenure
