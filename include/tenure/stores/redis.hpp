// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/redis_config.hpp>

#include <utility>

namespace tenure
{

/** One Redis (6 or newer) or Valkey server. Returns at once; connects when first needed.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store open_redis(asio::any_io_executor executor, RedisConfig config, StoreOptions options);

/** Overload with default options. Not a default argument: g++ 12 destroys it twice if the call contains a `co_await`.
 */
[[nodiscard]] inline Store open_redis(asio::any_io_executor executor, RedisConfig config)
{
    return open_redis(std::move(executor), std::move(config), StoreOptions{});
}

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis(Context& context, RedisConfig config, StoreOptions options)
{
    return open_redis(context.get_executor(), std::move(config), std::move(options));
}
/** Overload with default `StoreOptions`, which takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redis(Context& context, RedisConfig config)
{
    return open_redis(context.get_executor(), std::move(config), StoreOptions{});
}

} // namespace tenure
