// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "sentinel_backend.hpp"

#include "master_directory.hpp"
#include "master_stream.hpp"
#include "store/redis/backend.hpp"
#include "store/redis/config/config.hpp"
#include "store/redis/link/connection.hpp"

#include <utility>

namespace tenure::redis
{

namespace
{

/** What is common to all sentinels. */
RedisConfig of_sentinels(RedisSentinelConfig const& config)
{
    RedisConfig sentinels;
    sentinels.username = config.sentinel_username;
    sentinels.password = config.sentinel_password;
    sentinels.tls = config.sentinel_tls;
    sentinels.connect_timeout = config.connect_timeout;
    sentinels.reconnect_backoff = config.reconnect_backoff;
    return sentinels;
}

/** What is common to the master and those that may become it. */
RedisConfig of_servers(RedisSentinelConfig const& config)
{
    RedisConfig servers;
    servers.username = config.username;
    servers.password = config.password;
    servers.credentials = config.credentials;
    servers.database = config.database;
    servers.tls = config.tls;
    servers.connect_timeout = config.connect_timeout;
    servers.reconnect_backoff = config.reconnect_backoff;
    return servers;
}

} // namespace

std::shared_ptr<Backend>
make_sentinel_backend(std::shared_ptr<Runtime> runtime, RedisSentinelConfig const& config, StreamFactory streams)
{
    check_config(config);
    streams = with_address_map(std::move(streams), config.address_map);
    auto const name = describe(config);

    SentinelConnect ask = [runtime, common = of_sentinels(config), streams, name](ServerAddress const& sentinel) {
        auto one = common;
        one.host = sentinel.host;
        one.port = sentinel.port;
        ConnectionOptions options;
        options.name = name + " (sentinel " + to_string(sentinel) + ")";
        options.quiet = true;
        return make_connection(runtime, std::move(one), streams, std::move(options));
    };

    MasterDirectory::Settings settings;
    settings.name = name;
    settings.master_name = config.master_name;
    settings.connect_timeout = config.connect_timeout;
    for (auto const& sentinel : config.sentinels)
        settings.sentinels.push_back({sentinel.host, sentinel.port});
    auto directory = std::make_shared<MasterDirectory>(runtime, std::move(settings), std::move(ask));

    ConnectionFactory connect = [runtime, servers = of_servers(config), directory, name,
                                 masters = master_streams(directory, streams),
                                 learns_run_id = config.delay_after_failover](std::string_view purpose) {
        ConnectionOptions options;
        options.name = purpose.empty() ? name : name + " (" + std::string(purpose) + ")";
        options.master_only = true;
        options.learns_run_id = learns_run_id && purpose != hints_purpose;
        auto connection = make_connection(runtime, servers, masters, std::move(options));
        directory->hurry_on_news(connection);
        return connection;
    };
    BackendSettings backend{name, config.replicas, precautions_of(config)};
    backend.connect_to = connect_to_replicas(runtime, of_servers(config), streams);
    backend.closed = [directory] { directory->close(); };
    return make_backend(std::move(runtime), std::move(connect), std::move(backend));
}

} // namespace tenure::redis
