// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

void check_duration(std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest)
{
    if (value < shortest || value > 1h)
        refuse_config(
            field, std::to_string(value.count()) + "ms",
            "must be from " + std::to_string(shortest.count()) + "ms to one hour");
}

} // namespace

void refuse_config(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument(field + " = '" + value + "': " + rule);
}

void check_address(std::string const& prefix, std::string const& host, std::uint16_t port)
{
    if (host.empty() || host.find('\0') != std::string::npos)
        refuse_config(prefix + "host", host, "must be a host name or an address");
    if (port == 0)
        refuse_config(prefix + "port", "0", "must be from 1 to 65535");
}

void check_login(std::string const& prefix, std::string const& username, std::string const& password)
{
    if (!username.empty() && password.empty())
        refuse_config(prefix + "password", "", "must be given where there is a username");
}

void check_tls(std::string const& prefix, TlsConfig const& tls)
{
    if (tls.certificate_file.empty() != tls.key_file.empty())
        refuse_config(
            prefix + (tls.key_file.empty() ? "tls.key_file" : "tls.certificate_file"), "",
            "client certificate and key must be given both or not at all");
}

void check_limits(
    std::string const& prefix, std::chrono::milliseconds connect_timeout, std::chrono::milliseconds reconnect_backoff)
{
    check_duration(prefix + "connect_timeout", connect_timeout, 100ms);
    check_duration(prefix + "reconnect_backoff", reconnect_backoff, 10ms);
}

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
    check_login(prefix, config.username, config.password);
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
    check_login(prefix, config.username, config.password);
    check_tls(prefix, config.tls);
    check_limits(prefix, config.connect_timeout, config.reconnect_backoff);
}

} // namespace tenure::redis
