// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/etcd_store.hpp>

#include "etcd/backend.hpp"
#include "open_runtime.hpp"

#include <utility>

namespace tenure
{

Store open_etcd(asio::any_io_executor executor, EtcdConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = etcd::make_backend(runtime, std::move(config), etcd::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

} // namespace tenure
