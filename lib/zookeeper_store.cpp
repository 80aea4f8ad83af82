// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/stores/zookeeper.hpp>

#include "zookeeper/config_rules.hpp"

#if TENURE_HAS_ZOOKEEPER
#include "open_runtime.hpp"
#include "zookeeper/backend.hpp"
#endif

#include <stdexcept>
#include <utility>

namespace tenure
{

#if TENURE_HAS_ZOOKEEPER

Store open_zookeeper(asio::any_io_executor executor, ZookeeperConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = zookeeper::make_backend(runtime, config);
    return {std::move(runtime), std::move(backend), std::move(options)};
}

#else

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature of the other one
Store open_zookeeper(asio::any_io_executor, ZookeeperConfig config, StoreOptions)
{
    zookeeper::check_config(config);
    throw std::invalid_argument(
        zookeeper::describe(config) +
        ": this build of tenure is without ZooKeeper; install its C client (libzookeeper-st-dev on Debian and Ubuntu) "
        "and build tenure with -DTENURE_ZOOKEEPER=ON (Conan: -o tenure/*:zookeeper=True)");
}

#endif

} // namespace tenure
