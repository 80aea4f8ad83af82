// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"

#include <config/rules.hpp>
#include <config/url_options.hpp>
#include <net/endpoint.hpp>
#include <store/redis/config/config.hpp>

#include <chrono>
#include <set>
#include <string>

namespace tenure
{

namespace
{

constexpr char const* instead_of_replicas = "a majority of the servers stands in for replicas";
constexpr char const* instead_of_delay =
    "redlock does not offer it; a server that lost its data stays stopped for the longest ttl in use instead";

} // namespace

RedlockConfig redlock_config_from(Url const& url)
{
    RedisConfig server;
    server.database = redis::database_from(url.path);
    // one that is back has to be used again within a fraction of a ttl, before the next one goes
    server.reconnect_backoff = std::chrono::milliseconds(300);
    std::string const not_there = "must not be there: ";
    UrlOptions const refused{
        {"replicas", {}, not_there + instead_of_replicas},
        {"replicas_within", {}, not_there + instead_of_replicas},
        {"delay_after_failover", {}, not_there + instead_of_delay},
    };
    read_connection(server, url, schemes::redlock, joined({refused, redis::no_database_option(url)}));
    RedlockConfig config;
    for (auto const& host : url.hosts) {
        server.host = host.name;
        server.port = host.port.value_or(RedisConfig{}.port);
        config.servers.push_back(server);
    }
    return config;
}

namespace redlock
{

void check_config(RedlockConfig const& config)
{
    std::string const servers = "RedlockConfig::servers";
    auto const count = config.servers.size();
    if (count < 3 || count % 2 == 0)
        refuse_config(
            servers, std::to_string(count) + " servers",
            "must be an odd number, 3 and up (an even one tolerates no more failures than one less)");
    std::set<std::string> seen;
    for (auto const& server : config.servers) {
        redis::check_config(server);
        if (server.replicas.acknowledged_by != 0)
            refuse_config(
                servers + ": replicas.acknowledged_by", std::to_string(server.replicas.acknowledged_by),
                std::string("must be 0: ") + instead_of_replicas);
        if (server.delay_after_failover)
            refuse_config(
                servers + ": delay_after_failover", "true", std::string("must be false: ") + instead_of_delay);
        // by address: two databases of one server fail together
        auto const where =
            server.socket_path.empty() ? net::endpoint_text(server.host, server.port) : server.socket_path;
        if (!seen.insert(where).second)
            refuse_config(servers, where, "must be different servers, or this one votes twice");
    }
}

} // namespace redlock

} // namespace tenure
