// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"
#include "url_options.hpp"

#include <config/schemes.hpp>

#include <string>

namespace tenure
{

namespace
{

void read_address(RedisConfig& config, Url const& url)
{
    if (url.scheme == schemes::redis_socket.plain) {
        if (!url.hosts.empty())
            refuse_url("host", url.hosts.front().name, "must not be there: write redis+unix:///path/to/socket");
        if (url.path.size() < 2)
            refuse_url("path", url.path, "must be the path of the server's socket: redis+unix:///path/to/socket");
        config.socket_path = url.path;
        return;
    }
    if (url.hosts.size() != 1)
        refuse_url("hosts", "must be exactly one for " + url.scheme + "://");
    config.host = url.hosts.front().name;
    config.port = url.hosts.front().port.value_or(config.port);
    if (url.path.size() > 1)
        config.database = redis::database_from("path", url.path.substr(1));
}

/// The options that all configs have; false: it is another one.
template <class Config>
bool read_shared_option(
    Config& config, std::string const& name, std::string const& value, std::string const& tls_scheme)
{
    std::string const field = "option " + name;
    if (redis::read_precaution(config, name, value))
        return true;
    if (name == "connect_timeout")
        config.connect_timeout = duration_from(field, value);
    else if (name == "reconnect_backoff")
        config.reconnect_backoff = duration_from(field, value);
    else if (!name.starts_with("tls_"))
        return false;
    else if (!config.tls.enabled)
        refuse_url(field, value, "needs " + tls_scheme + "://");
    else
        read_tls_option(config.tls, name, value);
    return true;
}

void read_option(RedisConfig& config, Url const& url, std::string const& name, std::string const& value)
{
    if (redis::is_replica_option(name) || read_shared_option(config, name, value, "rediss"))
        return;
    std::string const field = "option " + name;
    if (name != "db")
        refuse_url(
            "option", name,
            "must be one of connect_timeout, reconnect_backoff, delay_after_failover, replicas, "
            "replicas_within, db, tls_...");
    if (url.scheme != schemes::redis_socket.plain)
        refuse_url(field, value, "belongs to redis+unix://; write the database as path: " + url.scheme + "://host/1");
    config.database = redis::database_from(field, value);
}

template <class Config>
void read_login(Config& config, Url const& url)
{
    check_url_login(url);
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
}

} // namespace

RedisConfig redis_config_from(Url const& url)
{
    RedisConfig config;
    read_login(config, url);
    config.tls.enabled = url.scheme == schemes::redis.over_tls;
    read_address(config, url);
    for (auto const& [name, value] : url.options)
        read_option(config, url, name, value);
    config.replicas = redis::replicas_from(url);
    redis::check_config(config);
    return config;
}

RedisClusterConfig redis_cluster_config_from(Url const& url)
{
    RedisClusterConfig config;
    read_login(config, url);
    config.tls.enabled = url.scheme == schemes::redis_cluster.over_tls;
    if (url.hosts.empty())
        refuse_url("hosts", "must be at least one for " + url.scheme + "://");
    if (url.path.size() > 1)
        refuse_url("path", url.path.substr(1), "must not be there: a cluster has only database 0");
    for (auto const& host : url.hosts)
        config.seeds.push_back({host.name, host.port.value_or(RedisConfig{}.port)});
    redis::refuse_replica_options(url, "a cluster does not offer it");
    for (auto const& [name, value] : url.options)
        if (!read_shared_option(config, name, value, "rediss+cluster"))
            refuse_url(
                "option", name, "must be one of connect_timeout, reconnect_backoff, delay_after_failover, tls_...");
    redis::check_config(config);
    return config;
}

} // namespace tenure
