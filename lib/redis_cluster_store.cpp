// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/stores/redis_cluster.hpp>

#include "open_runtime.hpp"
#include "redis/cluster/backend.hpp"

#include <utility>

namespace tenure
{

Store open_redis_cluster(asio::any_io_executor executor, RedisClusterConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = redis::make_cluster_backend(runtime, config, redis::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

} // namespace tenure
