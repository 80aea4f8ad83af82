// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Configs of Redis: parsing, checks, and their names.
#include "config.hpp"

#include <config/rules.hpp>
#include <net/endpoint.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace tenure::redis
{

using namespace std::chrono_literals;

namespace
{

constexpr char const* database_rule = "must be the number of a database, 0 and up";
constexpr char const* instead_of_replicas = "a majority of the servers stands in for replicas";
constexpr char const* instead_of_delay =
    "redlock does not offer it; a server that lost its data stays stopped for the longest ttl in use instead";

constexpr char const* no_layout = "Redisson's clients claim keys of one server, without a majority";

/** The database in the path of a URL; 0 if the path is empty. */
std::uint32_t database_from(std::string const& path)
{
    return path.size() < 2 ? 0 : number_in_url("path", path.substr(1), database_rule);
}

void refuse_database_option(UrlOptions& options, Url const& url)
{
    options.refuse(
        "db",
        "belongs to " + schemes::redis_socket.prefix() + "; write the database as path: " + url.scheme + "://host/1");
}

template <class Config>
void read_layout(Config& config, UrlOptions& options)
{
    std::string layout = "tenure";
    options.read("lock_layout", layout);
    if (layout != "tenure" && layout != "redisson")
        refuse_url("option lock_layout", layout, "must be tenure or redisson");
    if (layout == "redisson")
        config.lock_layout = LockLayout::redisson;
}

template <class Config>
void check_layout(std::string const& prefix, Config const& config)
{
    if (config.lock_layout == LockLayout::redisson && config.delay_after_failover)
        refuse_config(
            prefix + "delay_after_failover", "true",
            "must be false with lock_layout = redisson: Redisson's clients claim keys without the delay");
}

template <class Config>
void read_failover(Config& config, UrlOptions& options, Url const& url)
{
    auto& [acknowledged_by, acknowledged_within] = config.replicas;
    options.read("delay_after_failover", config.delay_after_failover);
    read_layout(config, options);
    options.read_number("replicas", acknowledged_by, "must be the number of replicas to wait for, 0 to 64");
    options.read(
        "replicas_within", acknowledged_within, url.options.contains("replicas") ? "" : "needs the option replicas");
}

RedisConfig socket_config_from(Url const& url)
{
    auto const form = schemes::redis_socket.prefix() + "/path/to/socket";
    if (!url.hosts.empty())
        refuse_url("host", url.hosts.front().host, "must not be there: write " + form);
    if (url.path.size() < 2)
        refuse_url("path", url.path, "must be the path of the server's socket: " + form);
    RedisConfig config;
    config.socket_path = url.path;
    auto options = read_connection(config, url, schemes::redis_socket);
    read_failover(config, options, url);
    options.read_number("db", config.database, database_rule);
    options.refuse_others();
    return config;
}

void check_replicas(std::string const& prefix, ReplicaAcknowledgement const& replicas)
{
    if (replicas.acknowledged_by > 64)
        refuse_config(
            prefix + "replicas.acknowledged_by", std::to_string(replicas.acknowledged_by),
            "must be the number of replicas to wait for, at most 64, or 0 for none");
    check_duration(prefix + "replicas.acknowledged_within", replicas.acknowledged_within, 1ms, 10s);
}

/** Login, timeouts and failover safety of any config that has these fields. */
template <class Config>
RedisConfig in_common(Config const& config)
{
    RedisConfig server;
    server.username = config.username;
    server.password = config.password;
    server.credentials = config.credentials;
    server.tls = config.tls;
    server.connect_timeout = config.connect_timeout;
    server.reconnect_backoff = config.reconnect_backoff;
    server.delay_after_failover = config.delay_after_failover;
    return server;
}

} // namespace

RedisConfig config_from(Url const& url)
{
    if (url.scheme == schemes::redis_socket.plain)
        return socket_config_from(url);
    if (url.hosts.size() != 1)
        refuse_url("hosts", "must be exactly one for " + url.scheme + "://");
    RedisConfig config;
    auto const server = endpoints_from(url, config.port).front();
    config.host = server.host;
    config.port = server.port;
    config.database = database_from(url.path);
    auto options = read_connection(config, url, schemes::redis);
    read_failover(config, options, url);
    refuse_database_option(options, url);
    options.refuse_others();
    return config;
}

RedisClusterConfig cluster_config_from(Url const& url)
{
    if (url.path.size() > 1)
        refuse_url("path", url.path.substr(1), "must not be there: a cluster has only database 0");
    RedisClusterConfig config;
    config.seeds = endpoints_from(url, RedisConfig{}.port);
    auto options = read_connection(config, url, schemes::redis_cluster);
    options.read("delay_after_failover", config.delay_after_failover);
    read_layout(config, options);
    for (auto const* const name : {"replicas", "replicas_within"})
        options.refuse(name, "must not be there: a cluster does not offer it");
    options.refuse_others();
    return config;
}

RedlockConfig redlock_config_from(Url const& url)
{
    RedisConfig server;
    server.database = database_from(url.path);
    // a returning server must be used again within a fraction of a ttl, before the next one fails
    server.reconnect_backoff = 300ms;
    auto options = read_connection(server, url, schemes::redlock);
    for (auto const* const name : {"replicas", "replicas_within"})
        options.refuse(name, std::string("must not be there: ") + instead_of_replicas);
    options.refuse("delay_after_failover", std::string("must not be there: ") + instead_of_delay);
    options.refuse("lock_layout", std::string("must not be there: ") + no_layout);
    refuse_database_option(options, url);
    options.refuse_others();
    RedlockConfig config;
    for (auto const& [host, port] : url.hosts) {
        server.host = host;
        server.port = port != 0 ? port : RedisConfig{}.port;
        config.servers.push_back(server);
    }
    return config;
}

RedisSentinelConfig sentinel_config_from(Url const& url)
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
    config.database = database_from(path.substr(slash));

    auto options = read_connection(config, url, schemes::redis_sentinel);
    read_failover(config, options, url);
    options.read("sentinel_user", config.sentinel_username);
    options.read("sentinel_password", config.sentinel_password);
    // default: the TLS settings of the servers
    auto& tls = config.sentinel_tls;
    tls.enabled = config.tls.enabled;
    options.read("sentinel_tls", tls.enabled);
    if (tls.enabled && config.tls.enabled)
        tls = config.tls;
    options.read_tls(tls, "needs " + schemes::redis_sentinel.prefix(true) + ", or sentinel_tls=true", "sentinel_");
    options.refuse_others();
    return config;
}

void check_config(RedisConfig const& config)
{
    std::string const prefix = "RedisConfig::";
    if (config.socket_path.empty()) {
        check_address(prefix, config.host, config.port);
    } else {
        // sockaddr_un holds 108 bytes including the closing NUL
        if (config.socket_path.size() > 107 || config.socket_path.find('\0') != std::string::npos)
            refuse_config(prefix + "socket_path", config.socket_path, "must be at most 107 bytes, none of them NUL");
        if (config.tls.enabled)
            refuse_config(prefix + "tls.enabled", "true", "must be false for a Unix socket");
    }
    check_connection(prefix, config);
    check_replicas(prefix, config.replicas);
    check_layout(prefix, config);
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
    check_layout(prefix, config);
}

void check_config(RedisClusterConfig const& config)
{
    std::string const prefix = "RedisClusterConfig::";
    check_endpoints(prefix, "seeds", config.seeds);
    check_connection(prefix, config);
    check_layout(prefix, config);
}

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
        check_config(server);
        if (server.replicas.acknowledged_by != 0)
            refuse_config(
                servers + ": replicas.acknowledged_by", std::to_string(server.replicas.acknowledged_by),
                std::string("must be 0: ") + instead_of_replicas);
        if (server.delay_after_failover)
            refuse_config(
                servers + ": delay_after_failover", "true", std::string("must be false: ") + instead_of_delay);
        if (server.lock_layout != LockLayout::tenure)
            refuse_config(servers + ": lock_layout", "redisson", std::string("must be tenure: ") + no_layout);
        // by address, because two databases of one server fail together
        auto const where =
            server.socket_path.empty() ? to_string(Endpoint{server.host, server.port}) : server.socket_path;
        if (!seen.insert(where).second)
            refuse_config(servers, where, "must be different servers, or this one votes twice");
    }
}

std::string describe(RedisConfig const& config)
{
    auto const database = std::to_string(config.database);
    if (!config.socket_path.empty())
        return schemes::redis_socket.prefix() + config.socket_path + (config.database == 0 ? "" : "?db=" + database);
    return schemes::redis.prefix(config.tls.enabled) + to_string(Endpoint{config.host, config.port}) + "/" + database;
}

std::string describe(RedisSentinelConfig const& config)
{
    return schemes::redis_sentinel.prefix(config.tls.enabled) + to_string(config.sentinels) + "/" + config.master_name +
           "/" + std::to_string(config.database);
}

std::string describe(RedisClusterConfig const& config)
{
    return schemes::redis_cluster.prefix(config.tls.enabled) + to_string(config.seeds);
}

RedisConfig server_config(RedisSentinelConfig const& config)
{
    auto server = in_common(config);
    server.database = config.database;
    server.replicas = config.replicas;
    return server;
}

RedisConfig server_config(RedisClusterConfig const& config)
{
    return in_common(config);
}

RedisConfig sentinel_login(RedisSentinelConfig const& config)
{
    RedisConfig sentinel;
    sentinel.username = config.sentinel_username;
    sentinel.password = config.sentinel_password;
    sentinel.tls = config.sentinel_tls;
    sentinel.connect_timeout = config.connect_timeout;
    sentinel.reconnect_backoff = config.reconnect_backoff;
    return sentinel;
}

} // namespace tenure::redis
