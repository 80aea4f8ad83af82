// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/etcd_config.hpp>

#include <utility>

namespace tenure
{

/** etcd, 3.4 or newer. Returns at once; connects when first needed.
 *
 *  Leases take a ttl of at least 2 s; the server rounds a ttl up to whole seconds, while the holder counts the
 *  requested ttl. The fencing token of a grant is the `create_revision` of its key: with the key it makes the clause by
 *  which your own transaction proves that the lease is still held (see docs/integrators/etcd-protocol.md).
 *  @throws std::invalid_argument naming field, value and rule, or saying that this build of the library is without
 * etcd */
[[nodiscard]] TENURE_API Store open_etcd(asio::any_io_executor executor, EtcdConfig config, StoreOptions options);

/** Overload with default options. Not a default argument: g++ 12 destroys it twice if the call contains a `co_await`.
 */
[[nodiscard]] inline Store open_etcd(asio::any_io_executor executor, EtcdConfig config)
{
    return open_etcd(std::move(executor), std::move(config), StoreOptions{});
}

/** Overload that takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_etcd(Context& context, EtcdConfig config, StoreOptions options)
{
    return open_etcd(context.get_executor(), std::move(config), std::move(options));
}
/** Overload with default `StoreOptions`, which takes the executor of a context. */
template <detail::ExecutionContext Context>
[[nodiscard]] Store open_etcd(Context& context, EtcdConfig config)
{
    return open_etcd(context.get_executor(), std::move(config), StoreOptions{});
}

} // namespace tenure
