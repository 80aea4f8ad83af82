// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Opens a store of each kind, from its config and from a URL.
#include <tenure/connect.hpp>
#include <tenure/stores/etcd.hpp>
#include <tenure/stores/memory.hpp>
#include <tenure/stores/redis.hpp>
#include <tenure/stores/redis_cluster.hpp>
#include <tenure/stores/redis_sentinel.hpp>
#include <tenure/stores/redlock.hpp>
#include <tenure/stores/zookeeper.hpp>

#include "config/url.hpp"
#include "etcd/config.hpp"
#include "memory/backend.hpp"
#include "open_runtime.hpp"
#include "redis/backend.hpp"
#include "redis/cluster/backend.hpp"
#include "redis/config.hpp"
#include "redis/sentinel/sentinel_backend.hpp"
#include "redis/stream.hpp"
#include "redlock/backend.hpp"
#include "redlock/config.hpp"
#include "zookeeper/config.hpp"

#if TENURE_HAS_ETCD
#include "etcd/backend.hpp"
#endif
#if TENURE_HAS_ZOOKEEPER
#include "zookeeper/backend.hpp"
#endif

#include <stdexcept>
#include <utility>
#include <vector>

namespace tenure
{

Store open_memory(asio::any_io_executor executor, MemoryConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = memory::make_backend(runtime, config.name);
    return {std::move(runtime), std::move(backend), std::move(options)};
}

Store open_redis(asio::any_io_executor executor, RedisConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = redis::make_backend(runtime, config, redis::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

Store open_redis_sentinel(asio::any_io_executor executor, RedisSentinelConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = redis::make_sentinel_backend(runtime, config, redis::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

Store open_redis_cluster(asio::any_io_executor executor, RedisClusterConfig config, StoreOptions options)
{
    auto runtime = open_runtime(std::move(executor), options);
    auto backend = redis::make_cluster_backend(runtime, config, redis::socket_streams());
    return {std::move(runtime), std::move(backend), std::move(options)};
}

Store open_redlock(asio::any_io_executor executor, RedlockConfig config, StoreOptions options)
{
    redlock::check_config(config);
    auto runtime = open_runtime(std::move(executor), options);
    std::vector<redlock::Quorum::Node> nodes;
    nodes.reserve(config.servers.size());
    for (auto const& server : config.servers)
        nodes.push_back(redis::make_node_backend(runtime, server, redis::socket_streams()));
    auto backend = redlock::make_backend(runtime, std::move(nodes));
    return {std::move(runtime), std::move(backend), std::move(options)};
}

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

namespace
{

MemoryConfig memory_config_from(Url const& url)
{
    if (url.user || url.password || !url.path.empty() || !url.options.empty() || url.hosts.size() > 1)
        throw std::invalid_argument(
            "a memory:// URL has nothing but a name: memory://NAME, or memory:// for keys shared with nobody");
    return MemoryConfig{url.hosts.empty() ? std::string() : url.hosts.front().name};
}

} // namespace

Store connect(asio::any_io_executor executor, std::string_view url, StoreOptions options)
{
    auto const parsed = parse_url(url);
    check_scheme(parsed);
    if (parsed.scheme == "memory")
        return open_memory(std::move(executor), memory_config_from(parsed), std::move(options));
    if (parsed.scheme == "redlock" || parsed.scheme == "redlocks")
        return open_redlock(std::move(executor), redlock_config_from(parsed), std::move(options));
    if (parsed.scheme == "etcd" || parsed.scheme == "etcds")
        return open_etcd(std::move(executor), etcd_config_from(parsed), std::move(options));
    if (parsed.scheme == "zookeeper")
        return open_zookeeper(std::move(executor), zookeeper_config_from(parsed), std::move(options));
    if (parsed.scheme.ends_with("+sentinel"))
        return open_redis_sentinel(std::move(executor), redis_sentinel_config_from(parsed), std::move(options));
    if (parsed.scheme.ends_with("+cluster"))
        return open_redis_cluster(std::move(executor), redis_cluster_config_from(parsed), std::move(options));
    return open_redis(std::move(executor), redis_config_from(parsed), std::move(options));
}

} // namespace tenure
