// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"

#include <config/schemes.hpp>
#include <net/endpoint.hpp>
#include <redis/config.hpp>
#include <redis/url_options.hpp>

#include <set>
#include <stdexcept>
#include <string>

namespace tenure
{

RedlockConfig redlock_config_from(Url const& url)
{
    redis::refuse_replica_options(url, "a majority of the servers stands in for replicas");
    if (auto const found = url.options.find("delay_after_failover"); found != url.options.end())
        refuse_url(
            "option " + found->first, found->second,
            std::string("must not be there: ") + redlock::no_delay_after_failover);
    RedlockConfig config;
    for (auto const& host : url.hosts) {
        auto single = url;
        single.scheme = url.scheme == schemes::redlock.over_tls ? schemes::redis.over_tls : schemes::redis.plain;
        single.hosts = {host};
        config.servers.push_back(redis_config_from(single));
        // one that is back has to be used again within a fraction of a ttl, before the next one goes
        if (!url.options.contains("reconnect_backoff"))
            config.servers.back().reconnect_backoff = std::chrono::milliseconds(300);
    }
    redlock::check_config(config);
    return config;
}

namespace redlock
{

void check_config(RedlockConfig const& config)
{
    auto const count = config.servers.size();
    if (count < 3 || count % 2 == 0)
        throw std::invalid_argument(
            "RedlockConfig::servers = " + std::to_string(count) +
            " servers: must be an odd number, 3 and up (an even one tolerates no more failures than one less)");
    std::set<std::string> seen;
    for (auto const& server : config.servers) {
        redis::check_config(server);
        if (server.replicas.acknowledged_by != 0)
            throw std::invalid_argument(
                "RedlockConfig::servers: replicas.acknowledged_by = '" +
                std::to_string(server.replicas.acknowledged_by) +
                "': must be 0: a majority of the servers stands in for replicas");
        if (server.delay_after_failover)
            throw std::invalid_argument(
                std::string("RedlockConfig::servers: delay_after_failover = 'true': must be false: ") +
                no_delay_after_failover);
        // by address: two databases of one server fail together
        auto const where =
            server.socket_path.empty() ? net::endpoint_text(server.host, server.port) : server.socket_path;
        if (!seen.insert(where).second)
            throw std::invalid_argument(
                "RedlockConfig::servers = '" + where +
                "' twice: must be different servers, or one of them votes twice");
    }
}

} // namespace redlock

} // namespace tenure
