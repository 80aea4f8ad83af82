// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/stores/etcd.hpp>

#if TENURE_HAS_ETCD
#include "etcd/backend.hpp"
#include "open_runtime.hpp"
#else
#include "etcd/config_rules.hpp"
#endif

#include <stdexcept>
#include <utility>

namespace tenure
{

#if TENURE_HAS_ETCD

Store open_etcd(asio::any_io_executor executor, EtcdConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = etcd::make_backend(runtime, std::move(config), etcd::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

#else

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature of the other one
Store open_etcd(asio::any_io_executor, EtcdConfig config, StoreOptions)
{
    etcd::check_config(config);
    throw std::invalid_argument(
        etcd::describe(config) +
        ": this build of tenure is without etcd; build tenure with -DTENURE_ETCD=ON (Conan: -o tenure/*:etcd=True)");
}

#endif

} // namespace tenure
