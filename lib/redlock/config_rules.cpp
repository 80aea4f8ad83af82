// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <net/endpoint.hpp>
#include <redis/config_rules.hpp>

#include <set>
#include <stdexcept>
#include <string>

namespace tenure::redlock
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

} // namespace tenure::redlock
