// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>

#include <utility>

namespace tenure
{

/** The master that Redis or Valkey sentinels name, and its successor after a failover. Returns at once; connects when
 *  first needed.
 *
 *  A lease survives a failover only if its last write had reached the new master: replication is asynchronous. Fencing
 *  tokens increase over failovers (docs/users/redis-failover.md).
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_redis_sentinel(asio::any_io_executor executor, RedisSentinelConfig config, StoreOptions options);

/** Overload with default options. Not a default argument: g++ 12 destroys it twice if the call contains a `co_await`.
 */
[[nodiscard]] inline Store open_redis_sentinel(asio::any_io_executor executor, RedisSentinelConfig config)
{
    return open_redis_sentinel(std::move(executor), std::move(config), StoreOptions{});
}

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis_sentinel(Context& context, RedisSentinelConfig config, StoreOptions options)
{
    return open_redis_sentinel(context.get_executor(), std::move(config), std::move(options));
}
/** Overload with default `StoreOptions`, which takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis_sentinel(Context& context, RedisSentinelConfig config)
{
    return open_redis_sentinel(context.get_executor(), std::move(config), StoreOptions{});
}

} // namespace tenure
