// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis/config.hpp"
#include "redis/url_options.hpp"

#include <config/schemes.hpp>

#include <string>
#include <string_view>

namespace tenure
{

namespace
{

constexpr std::string_view sentinel_prefix = "sentinel_";
constexpr std::uint16_t usual_port = 26379;

void read_address(RedisSentinelConfig& config, Url const& url)
{
    if (url.hosts.empty())
        refuse_url("hosts", "must be one or more sentinels: " + url.scheme + "://host:26379,host:26379/master-name");
    for (auto const& host : url.hosts)
        config.sentinels.push_back({host.name, host.port.value_or(usual_port)});
    // /name, /name/database
    auto const path = std::string_view(url.path).substr(url.path.empty() ? 0 : 1);
    auto const slash = path.find('/');
    config.master_name = path.substr(0, slash);
    if (config.master_name.empty())
        refuse_url(
            "path", url.path,
            "must begin with the name that the sentinels have for the master: " + url.scheme + "://host/master-name");
    if (slash != std::string_view::npos && slash + 1 < path.size())
        config.database = redis::database_from("path", std::string(path.substr(slash + 1)));
}

void read_sentinel_option(RedisSentinelConfig& config, std::string const& name, std::string const& value)
{
    std::string const field = "option " + std::string(sentinel_prefix) + name;
    if (name == "user")
        config.sentinel_username = value;
    else if (name == "password")
        config.sentinel_password = value;
    else if (name == "tls")
        return; // was read before all others
    else if (name.starts_with("tls_") && !config.sentinel_tls.enabled)
        refuse_url(field, value, "needs rediss+sentinel://, or sentinel_tls=true");
    else
        read_tls_option(config.sentinel_tls, name, value, std::string(sentinel_prefix));
}

void read_option(RedisSentinelConfig& config, std::string const& name, std::string const& value)
{
    if (redis::is_replica_option(name))
        return; // is read together
    if (redis::read_precaution(config, name, value))
        return;
    std::string const field = "option " + name;
    if (name == "connect_timeout")
        config.connect_timeout = duration_from(field, value);
    else if (name == "reconnect_backoff")
        config.reconnect_backoff = duration_from(field, value);
    else if (name.starts_with("tls_") && !config.tls.enabled)
        refuse_url(field, value, "needs rediss+sentinel://");
    else
        read_tls_option(config.tls, name, value);
}

bool is_known(std::string_view name)
{
    for (std::string_view const known :
         {"connect_timeout", "reconnect_backoff", "delay_after_failover", "replicas", "replicas_within",
          "sentinel_user", "sentinel_password", "sentinel_tls"})
        if (name == known)
            return true;
    return name.starts_with("tls_") || name.starts_with("sentinel_tls_");
}

void check_names(Url const& url)
{
    for (auto const& [name, value] : url.options)
        if (!is_known(name)) {
            // it may be the rest of a password with an '&'
            auto const shown = url.options.contains("sentinel_password") ? std::string("...") : name;
            refuse_url(
                "option", shown,
                "must be one of connect_timeout, reconnect_backoff, delay_after_failover, replicas, "
                "replicas_within, tls_..., sentinel_user, sentinel_password, sentinel_tls, sentinel_tls_...; in a "
                "password write '&' as %26");
        }
}

} // namespace

RedisSentinelConfig redis_sentinel_config_from(Url const& url)
{
    check_url_login(url);
    RedisSentinelConfig config;
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
    config.tls.enabled = url.scheme == schemes::redis_sentinel.over_tls;
    read_address(config, url);
    check_names(url);
    for (auto const& [name, value] : url.options)
        if (!name.starts_with(sentinel_prefix))
            read_option(config, name, value);

    config.replicas = redis::replicas_from(url);

    // the sentinels' TLS is that of the servers where nothing else is said
    if (auto const tls = url.options.find("sentinel_tls"); tls != url.options.end())
        config.sentinel_tls.enabled = boolean_from("option sentinel_tls", tls->second);
    else
        config.sentinel_tls.enabled = config.tls.enabled;
    if (config.sentinel_tls.enabled && config.tls.enabled)
        config.sentinel_tls = config.tls;
    for (auto const& [name, value] : url.options)
        if (name.starts_with(sentinel_prefix))
            read_sentinel_option(config, name.substr(sentinel_prefix.size()), value);
    redis::check_config(config);
    return config;
}

} // namespace tenure
