// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Leases on the master that sentinels name: the backend of one server, whose connections find it by a MasterDirectory.
#include "store/redis/backend.hpp"

#include "master_directory.hpp"
#include "master_stream.hpp"
#include "store/redis/config/config.hpp"
#include "store/redis/link/connection_factory.hpp"

#include <utility>

namespace tenure::redis
{

std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedisSentinelConfig const& config, StreamFactory streams)
{
    check_config(config);
    streams = with_address_map(std::move(streams), config.address_map);
    auto const name = describe(config);

    auto const to_sentinel = connect_like(runtime, sentinel_login(config), streams, {.name = name, .quiet = true});
    auto ask = [to_sentinel](ServerAddress const& sentinel) {
        return to_sentinel(sentinel)("sentinel " + to_string(sentinel));
    };
    auto const directory = std::make_shared<MasterDirectory>(
        runtime, MasterDirectory::Settings{name, config.master_name, config.sentinels, config.connect_timeout},
        std::move(ask));

    auto const server = server_config(config);
    auto const to_master =
        connections_to(runtime, server, master_streams(directory, streams), {.name = name, .master_only = true});
    auto connect = [directory, to_master](std::string_view purpose) {
        auto connection = to_master(purpose);
        directory->hurry_on_news(connection);
        return connection;
    };
    BackendSettings settings{name, config.replicas, config.delay_after_failover};
    settings.connect_to = connect_to_replicas(runtime, server, std::move(streams));
    settings.closed = [directory] { directory->close(); };
    return make_backend(std::move(runtime), std::move(connect), std::move(settings));
}

} // namespace tenure::redis
