// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/redlock_config.hpp>

#include <utility>

namespace tenure
{

/** A majority of independent Redis (6 or newer) or Valkey servers. Returns at once; connects when first needed.
 *
 *  @par Guarantees  The guarantees of one server, while a majority of the servers keeps its data and their clocks run
 * at the same rate. A minority may be stopped, cut off or restarted at any time. A server that lost its data must stay
 *    unavailable for the longest ttl. A majority agrees on fencing tokens, which increase under the same condition
 *    (docs/users/guarantees.md).
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store open_redlock(asio::any_io_executor executor, RedlockConfig config, StoreOptions options);

/** Overload with default options. Not a default argument: g++ 12 destroys it twice if the call contains a `co_await`.
 */
[[nodiscard]] inline Store open_redlock(asio::any_io_executor executor, RedlockConfig config)
{
    return open_redlock(std::move(executor), std::move(config), StoreOptions{});
}

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redlock(Context& context, RedlockConfig config, StoreOptions options)
{
    return open_redlock(context.get_executor(), std::move(config), std::move(options));
}
/** Overload with default `StoreOptions`, which takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_redlock(Context& context, RedlockConfig config)
{
    return open_redlock(context.get_executor(), std::move(config), StoreOptions{});
}

} // namespace tenure
