// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"

#include <config/rules.hpp>
#include <config/schemes.hpp>
#include <net/endpoint.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenure::redis
{

using namespace std::chrono_literals;

namespace
{

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

} // namespace

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

void check_config(RedisSentinelConfig const& config)
{
    std::string const prefix = "RedisSentinelConfig::";
    constexpr std::size_t most_sentinels = 64;
    auto const count = config.sentinels.size();
    if (count == 0 || count > most_sentinels)
        refuse_config(prefix + "sentinels", std::to_string(count) + " sentinels", "must be 1 to 64");
    for (std::size_t i = 0; i < count; ++i)
        check_address(
            prefix + "sentinels[" + std::to_string(i) + "].", config.sentinels[i].host, config.sentinels[i].port);

    auto const is_printable = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
    auto const& name = config.master_name;
    if (name.empty() || name.size() > 255 || !std::ranges::all_of(name, is_printable)) {
        auto shown = name.substr(0, 255);
        std::ranges::replace_if(shown, [&](unsigned char c) { return !is_printable(c); }, '?');
        refuse_config(prefix + "master_name", shown, "must be 1 to 255 printable characters without blanks");
    }

    check_login(prefix, config.username, config.password, config.credentials);
    check_tls(prefix, config.tls);
    check_login(prefix + "sentinel_", config.sentinel_username, config.sentinel_password);
    check_tls(prefix + "sentinel_", config.sentinel_tls);
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

std::string describe(RedisConfig const& config)
{
    auto const database = std::to_string(config.database);
    if (!config.socket_path.empty())
        return schemes::redis_socket.prefix() + config.socket_path + (config.database == 0 ? "" : "?db=" + database);
    return schemes::redis.prefix(config.tls.enabled) + net::endpoint_text(config.host, config.port) + "/" + database;
}

std::string describe(RedisSentinelConfig const& config)
{
    return schemes::redis_sentinel.prefix(config.tls.enabled) + net::endpoints_text(config.sentinels) + "/" +
           config.master_name + "/" + std::to_string(config.database);
}

std::string describe(RedisClusterConfig const& config)
{
    return schemes::redis_cluster.prefix(config.tls.enabled) + net::endpoints_text(config.seeds);
}

} // namespace tenure::redis
