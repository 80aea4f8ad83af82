// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Opens a store of each kind, from its config and from a URL.
#include <tenure/backend/runtime.hpp>
#include <tenure/open_store.hpp>
#include <tenure/stores/etcd.hpp>
#include <tenure/stores/file.hpp>
#include <tenure/stores/memory.hpp>
#include <tenure/stores/postgresql.hpp>
#include <tenure/stores/redis.hpp>
#include <tenure/stores/redis_cluster.hpp>
#include <tenure/stores/redis_sentinel.hpp>
#include <tenure/stores/redlock.hpp>
#include <tenure/stores/zookeeper.hpp>

#include "config/url.hpp"
#include "store/etcd/config.hpp"
#include "store/file/backend.hpp"
#include "store/memory/backend.hpp"
#include "store/postgresql/backend.hpp"
#include "store/redis/backend.hpp"
#include "store/redis/cluster/backend.hpp"
#include "store/redis/config/config.hpp"
#include "store/redis/link/stream.hpp"
#include "store/redis/redlock/backend.hpp"
#include "store/zookeeper/config.hpp"

#if TENURE_HAS_ETCD
#include "store/etcd/backend.hpp"
#endif
#if TENURE_HAS_FILE
#include "files/fork_closed.hpp"
#endif
#if TENURE_HAS_ZOOKEEPER
#include "store/zookeeper/backend.hpp"
#endif

#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

/** @param make_backend  of a kind of store, from the runtime */
template <class MakeBackend>
Store open(asio::any_io_executor executor, StoreOptions options, MakeBackend make_backend)
{
    auto runtime = make_runtime(std::move(executor), options);
    auto backend = make_backend(runtime);
    return {std::move(runtime), std::move(backend), std::move(options)};
}

} // namespace

Store open_store(asio::any_io_executor executor, MemoryConfig config, StoreOptions options)
{
    return open(std::move(executor), std::move(options), [&config](auto const& runtime) {
        return memory::make_backend(runtime, config.name);
    });
}

Store open_store(asio::any_io_executor executor, RedisConfig config, StoreOptions options)
{
    return open(std::move(executor), std::move(options), [&config](auto const& runtime) {
        return redis::make_backend(runtime, config, redis::socket_streams());
    });
}

Store open_store(asio::any_io_executor executor, RedisSentinelConfig config, StoreOptions options)
{
    return open(std::move(executor), std::move(options), [&config](auto const& runtime) {
        return redis::make_backend(runtime, config, redis::socket_streams());
    });
}

Store open_store(asio::any_io_executor executor, RedisClusterConfig config, StoreOptions options)
{
    return open(std::move(executor), std::move(options), [&config](auto const& runtime) {
        return redis::make_cluster_backend(runtime, config, redis::socket_streams());
    });
}

Store open_store(asio::any_io_executor executor, RedlockConfig config, StoreOptions options)
{
    return open(std::move(executor), std::move(options), [&config](auto const& runtime) {
        return redlock::make_backend(runtime, config, redis::socket_streams());
    });
}

Store open_store(asio::any_io_executor executor, EtcdConfig config, StoreOptions options)
{
    return open(
        std::move(executor), std::move(options),
        [&config]([[maybe_unused]] auto const& runtime) -> std::shared_ptr<Backend> {
#if TENURE_HAS_ETCD
            return etcd::make_backend(runtime, std::move(config), etcd::socket_streams());
#else
            etcd::check_config(config);
            throw std::invalid_argument(
                etcd::describe(config) + ": this build of tenure is without etcd; build tenure with -DTENURE_ETCD=ON "
                                         "(Conan: -o tenure/*:etcd=True)");
#endif
        });
}

Store open_store(asio::any_io_executor executor, FileConfig config, StoreOptions options)
{
    return open(
        std::move(executor), std::move(options),
        [&config]([[maybe_unused]] auto const& runtime) -> std::shared_ptr<Backend> {
#if TENURE_HAS_FILE
            return file::make_backend(runtime, config);
#else
            file::check_config(config);
            throw std::invalid_argument(
                file::describe(config) + ": this build of tenure is without the store in a directory; build tenure "
                                         "with -DTENURE_FILE=ON (Conan: -o tenure/*:file=True)");
#endif
        });
}

std::vector<int> holder_descriptors()
{
#if TENURE_HAS_FILE
    return fork_closed_descriptors();
#else
    return {};
#endif
}

Store open_store(asio::any_io_executor executor, ZookeeperConfig config, StoreOptions options)
{
    return open(
        std::move(executor), std::move(options),
        [&config]([[maybe_unused]] auto const& runtime) -> std::shared_ptr<Backend> {
#if TENURE_HAS_ZOOKEEPER
            return zookeeper::make_backend(runtime, config);
#else
            zookeeper::check_config(config);
            throw std::invalid_argument(
                zookeeper::describe(config) +
                ": this build of tenure is without ZooKeeper; install its C client (libzookeeper-st-dev on Debian and "
                "Ubuntu) and build tenure with -DTENURE_ZOOKEEPER=ON (Conan: -o tenure/*:zookeeper=True)");
#endif
        });
}

namespace
{

/** @throws std::invalid_argument if the config is wrong, or this build is without PostgreSQL */
void check_postgresql(PostgresqlConfig const& config)
{
    postgresql::check_config(config);
#if !TENURE_HAS_POSTGRESQL
    throw std::invalid_argument(
        postgresql::describe(config) + ": this build of tenure is without PostgreSQL; install its C library (libpq-dev "
                                       "on Debian and Ubuntu) and build "
                                       "tenure with -DTENURE_POSTGRESQL=ON (Conan: -o tenure/*:postgresql=True)");
#endif
}

} // namespace

Store open_store(asio::any_io_executor executor, PostgresqlConfig config, StoreOptions options)
{
    check_postgresql(config);
    return open(
        std::move(executor), std::move(options),
        [&config]([[maybe_unused]] auto const& runtime) -> std::shared_ptr<Backend> {
#if TENURE_HAS_POSTGRESQL
            return postgresql::make_backend(runtime, std::move(config));
#else
            return nullptr;
#endif
        });
}

std::string postgresql_schema(std::string_view url)
{
    auto const parsed = parse_url(url);
    if (parsed.scheme != schemes::postgresql.plain && parsed.scheme != schemes::postgres.plain)
        refuse_url("scheme", parsed.scheme, "must be postgresql:// or postgres://: other stores need no schema");
    auto const config = postgresql::config_from(parsed);
    check_postgresql(config);
#if TENURE_HAS_POSTGRESQL
    return postgresql::install_statement(config.schema, config.roles);
#else
    return {};
#endif
}

namespace
{

MemoryConfig memory_config_from(Url const& url)
{
    if (url.user || url.password || !url.path.empty() || !url.options.empty() || url.hosts.size() > 1)
        throw std::invalid_argument(
            "a memory:// URL has nothing but a name: memory://NAME, or memory:// for keys that no other store shares");
    return MemoryConfig{url.hosts.empty() ? std::string() : url.hosts.front().host};
}

/** The URL scheme of a kind of store, and the function that opens it. */
struct StoreKind {
    UrlScheme scheme;
    Store (*open)(asio::any_io_executor executor, Url const& url, StoreOptions options);
};

template <auto config_from>
Store open_url(asio::any_io_executor executor, Url const& url, StoreOptions options)
{
    return open_store(std::move(executor), config_from(url), std::move(options));
}

constexpr StoreKind store_kinds[]{
    {schemes::memory, open_url<memory_config_from>},
    {schemes::file, open_url<file::config_from>},
    {schemes::redis, open_url<redis::config_from>},
    {schemes::redis_socket, open_url<redis::config_from>},
    {schemes::redis_sentinel, open_url<redis::sentinel_config_from>},
    {schemes::redis_cluster, open_url<redis::cluster_config_from>},
    {schemes::redlock, open_url<redis::redlock_config_from>},
    {schemes::etcd, open_url<etcd::config_from>},
    {schemes::zookeeper, open_url<zookeeper::config_from>},
    {schemes::postgresql, open_url<postgresql::config_from>},
    {schemes::postgres, open_url<postgresql::config_from>},
};

StoreKind const& kind_of(Url const& url)
{
    std::string known;
    for (auto const& kind : store_kinds)
        for (auto const scheme : {kind.scheme.plain, kind.scheme.over_tls}) {
            if (scheme == url.scheme)
                return kind;
            if (!scheme.empty())
                known.append(known.empty() ? "" : ", ").append(scheme).append("://");
        }
    refuse_url("scheme", url.scheme, "must be one of " + known);
}

} // namespace

Store open_store(asio::any_io_executor executor, std::string_view url, StoreOptions options)
{
    auto const parsed = parse_url(url);
    return kind_of(parsed).open(std::move(executor), parsed, std::move(options));
}

} // namespace tenure
