// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/redis_cluster_config.hpp>

#include <utility>

namespace tenure
{

/** A Redis Cluster. Returns at once; connects when first needed, and to the masters that are needed.
 *
 *  A lock lives on the master of its hash slot. A pool whose prefix has a hash tag (`{ids}:worker:`) does so as a whole
 *  and costs one round trip to claim from; a pool without one spreads over all masters, and its keys are claimed one by
 *  one after a look at all of them.
 *
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_redis_cluster(asio::any_io_executor executor, RedisClusterConfig config, StoreOptions options);

/** The same with default options. Not a default argument: g++ 12 destroys one twice where the call holds a `co_await`.
 */
[[nodiscard]] inline Store open_redis_cluster(asio::any_io_executor executor, RedisClusterConfig config)
{
    return open_redis_cluster(std::move(executor), std::move(config), StoreOptions{});
}

/** The same on the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis_cluster(Context& context, RedisClusterConfig config, StoreOptions options)
{
    return open_redis_cluster(context.get_executor(), std::move(config), std::move(options));
}
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis_cluster(Context& context, RedisClusterConfig config)
{
    return open_redis_cluster(context.get_executor(), std::move(config), StoreOptions{});
}

} // namespace tenure
