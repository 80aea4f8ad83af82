// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/redis_cluster_config.hpp>

#include <utility>

namespace tenure
{

/** A Redis Cluster. Returns at once; connects to each master on first use.
 *
 *  A lock lives on the master of its hash slot. A pool whose prefix has a hash tag (`{ids}:worker:`) lives on one
 *  master, and a claim costs one round trip. A pool without a hash tag is spread over all masters: a claim reads all
 *  keys and then tries single keys.
 *
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_redis_cluster(asio::any_io_executor executor, RedisClusterConfig config, StoreOptions options);

/** Overload with default options. Not a default argument: g++ 12 destroys it twice if the call contains a `co_await`.
 */
[[nodiscard]] inline Store open_redis_cluster(asio::any_io_executor executor, RedisClusterConfig config)
{
    return open_redis_cluster(std::move(executor), std::move(config), StoreOptions{});
}

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis_cluster(Context& context, RedisClusterConfig config, StoreOptions options)
{
    return open_redis_cluster(context.get_executor(), std::move(config), std::move(options));
}
/** Overload with default `StoreOptions`, which takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis_cluster(Context& context, RedisClusterConfig config)
{
    return open_redis_cluster(context.get_executor(), std::move(config), StoreOptions{});
}

} // namespace tenure
