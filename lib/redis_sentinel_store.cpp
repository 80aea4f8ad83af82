// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/stores/redis_sentinel.hpp>

#include "open_runtime.hpp"
#include "redis/sentinel/sentinel_backend.hpp"
#include "redis/stream.hpp"

#include <utility>

namespace tenure
{

Store open_redis_sentinel(asio::any_io_executor executor, RedisSentinelConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = redis::make_sentinel_backend(runtime, config, redis::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

} // namespace tenure
