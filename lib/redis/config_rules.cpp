// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenure::redis
{

using namespace std::chrono_literals;

void check_replicas(std::string const& prefix, ReplicaAcknowledgement const& replicas)
{
    if (replicas.acknowledged_by > 64)
        refuse_config(
            prefix + "replicas.acknowledged_by", std::to_string(replicas.acknowledged_by),
            "must be the number of replicas to wait for, at most 64, or 0 for none");
    if (replicas.acknowledged_within < 1ms || replicas.acknowledged_within > 10s)
        refuse_config(
            prefix + "replicas.acknowledged_within", std::to_string(replicas.acknowledged_within.count()) + "ms",
            "must be from 1ms to 10s");
}

void check_config(RedisConfig const& config)
{
    std::string const prefix = "RedisConfig::";
    if (config.socket_path.empty()) {
        check_address(prefix, config.host, config.port);
    } else {
        // sockaddr_un holds 108 bytes with the closing NUL
        if (config.socket_path.size() > 107 || config.socket_path.find('\0') != std::string::npos)
            refuse_config(prefix + "socket_path", config.socket_path, "must be at most 107 bytes, none of them NUL");
        if (config.tls.enabled)
            refuse_config(prefix + "tls.enabled", "true", "must be false for a Unix socket");
    }
    check_login(prefix, config.username, config.password, config.credentials);
    check_tls(prefix, config.tls);
    check_limits(prefix, config.connect_timeout, config.reconnect_backoff);
    check_replicas(prefix, config.replicas);
}

void check_config(RedisClusterConfig const& config)
{
    std::string const prefix = "RedisClusterConfig::";
    if (config.seeds.empty() || config.seeds.size() > 64)
        refuse_config(prefix + "seeds", std::to_string(config.seeds.size()) + " nodes", "must be from 1 to 64");
    for (std::size_t i = 0; i < config.seeds.size(); ++i)
        check_address(prefix + "seeds[" + std::to_string(i) + "].", config.seeds[i].host, config.seeds[i].port);
    check_login(prefix, config.username, config.password, config.credentials);
    check_tls(prefix, config.tls);
    check_limits(prefix, config.connect_timeout, config.reconnect_backoff);
}

} // namespace tenure::redis
