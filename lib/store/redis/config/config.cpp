// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"

#include <config/rules.hpp>
#include <config/url_options.hpp>
#include <net/endpoint.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace tenure
{

namespace
{

constexpr char const* database_rule = "must be the number of a database, 0 and up";

template <class Config>
UrlOptions failover_options(Config& config, Url const& url)
{
    auto& [acknowledged_by, acknowledged_within] = config.replicas;
    return {
        {"delay_after_failover", &config.delay_after_failover},
        {"replicas", UrlNumber{&acknowledged_by, "must be the number of replicas to wait for, 0 to 64"}},
        {"replicas_within", &acknowledged_within, url.options.contains("replicas") ? "" : "needs the option replicas"},
    };
}

} // namespace

namespace redis
{

std::uint32_t database_from(std::string const& path)
{
    return path.size() < 2 ? 0 : number_in_url("path", path.substr(1), database_rule);
}

UrlOptions no_database_option(Url const& url)
{
    auto const needs = "belongs to " + schemes::redis_socket.prefix() + "; write the database as path: ";
    return {{"db", {}, needs + url.scheme + "://host/1"}};
}

} // namespace redis

RedisConfig redis_config_from(Url const& url)
{
    if (url.hosts.size() != 1)
        refuse_url("hosts", "must be exactly one for " + url.scheme + "://");
    RedisConfig config;
    config.host = url.hosts.front().name;
    config.port = url.hosts.front().port.value_or(config.port);
    config.database = redis::database_from(url.path);
    read_connection(
        config, url, schemes::redis, joined({failover_options(config, url), redis::no_database_option(url)}));
    return config;
}

RedisConfig redis_socket_config_from(Url const& url)
{
    auto const form = schemes::redis_socket.prefix() + "/path/to/socket";
    if (!url.hosts.empty())
        refuse_url("host", url.hosts.front().name, "must not be there: write " + form);
    if (url.path.size() < 2)
        refuse_url("path", url.path, "must be the path of the server's socket: " + form);
    RedisConfig config;
    config.socket_path = url.path;
    UrlOptions const database{{"db", UrlNumber{&config.database, database_rule}}};
    read_connection(config, url, schemes::redis_socket, joined({failover_options(config, url), database}));
    return config;
}

RedisClusterConfig redis_cluster_config_from(Url const& url)
{
    if (url.path.size() > 1)
        refuse_url("path", url.path.substr(1), "must not be there: a cluster has only database 0");
    RedisClusterConfig config;
    config.seeds = endpoints_from(url, RedisConfig{}.port);
    std::string const no_replicas = "must not be there: a cluster does not offer it";
    read_connection(
        config, url, schemes::redis_cluster,
        {
            {"delay_after_failover", &config.delay_after_failover},
            {"replicas", {}, no_replicas},
            {"replicas_within", {}, no_replicas},
        });
    return config;
}

RedisSentinelConfig redis_sentinel_config_from(Url const& url)
{
    if (url.hosts.empty())
        refuse_url("hosts", "must be one or more sentinels: " + url.scheme + "://host:26379,host:26379/master-name");
    RedisSentinelConfig config;
    config.sentinels = endpoints_from(url, 26379);
    // /name, /name/database
    auto const path = url.path.substr(url.path.empty() ? 0 : 1);
    auto const slash = std::min(path.find('/'), path.size());
    config.master_name = path.substr(0, slash);
    if (config.master_name.empty())
        refuse_url(
            "path", url.path,
            "must begin with the name that the sentinels have for the master: " + url.scheme + "://host/master-name");
    config.database = redis::database_from(path.substr(slash));

    auto const& scheme = schemes::redis_sentinel;
    auto& tls = config.sentinel_tls;
    tls.enabled = url.scheme == scheme.over_tls;
    UrlOptions const own{
        {"sentinel_user", &config.sentinel_username},
        {"sentinel_password", &config.sentinel_password},
        {"sentinel_tls", &tls.enabled},
    };
    set_options(url, own); // other options depend on the last one
    auto const own_tls = tls_options(tls, scheme.prefix(true) + ", or sentinel_tls=true", "sentinel_");
    read_connection(config, url, scheme, joined({failover_options(config, url), own, own_tls}));
    if (tls.enabled && config.tls.enabled) {
        // where the URL says nothing else, TLS is that of the servers
        tls = config.tls;
        set_options(url, own_tls);
    }
    return config;
}

namespace redis
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
    check_duration(prefix + "replicas.acknowledged_within", replicas.acknowledged_within, 1ms, 10s);
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
    check_connection(prefix, config);
    check_replicas(prefix, config.replicas);
}

void check_config(RedisSentinelConfig const& config)
{
    std::string const prefix = "RedisSentinelConfig::";
    check_endpoints(prefix, "sentinels", config.sentinels);

    auto const is_printable = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
    auto const& name = config.master_name;
    if (name.empty() || name.size() > 255 || !std::ranges::all_of(name, is_printable)) {
        auto shown = name.substr(0, 255);
        std::ranges::replace_if(shown, [&](unsigned char c) { return !is_printable(c); }, '?');
        refuse_config(prefix + "master_name", shown, "must be 1 to 255 printable characters without blanks");
    }

    check_connection(prefix, config);
    check_login(prefix + "sentinel_", config.sentinel_username, config.sentinel_password);
    check_tls(prefix + "sentinel_", config.sentinel_tls);
    check_replicas(prefix, config.replicas);
}

void check_config(RedisClusterConfig const& config)
{
    std::string const prefix = "RedisClusterConfig::";
    check_endpoints(prefix, "seeds", config.seeds);
    check_connection(prefix, config);
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

} // namespace redis

} // namespace tenure
