// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"
#include "url.hpp"
#include "url_options.hpp"

#include <stdexcept>
#include <string>

namespace tenure
{

namespace
{

using redis::refuse_url;

void read_address(RedisConfig& config, Url const& url)
{
    if (url.scheme == "redis+unix") {
        if (!url.hosts.empty())
            refuse_url("host", url.hosts.front().name, "must not be there: write redis+unix:///path/to/socket");
        if (url.path.size() < 2)
            refuse_url("path", url.path, "must be the path of the server's socket: redis+unix:///path/to/socket");
        config.socket_path = url.path;
        return;
    }
    if (url.hosts.size() != 1)
        throw std::invalid_argument("store URL: hosts: must be exactly one for " + url.scheme + "://");
    config.host = url.hosts.front().name;
    config.port = url.hosts.front().port.value_or(config.port);
    if (url.path.size() > 1)
        config.database = redis::database_from("path", url.path.substr(1));
}

void read_option(RedisConfig& config, Url const& url, std::string const& name, std::string const& value)
{
    std::string const field = "option " + name;
    if (name == "connect_timeout")
        config.connect_timeout = redis::duration_from(field, value);
    else if (name == "reconnect_backoff")
        config.reconnect_backoff = redis::duration_from(field, value);
    else if (name == "db") {
        if (url.scheme != "redis+unix")
            refuse_url(
                field, value, "belongs to redis+unix://; write the database as path: " + url.scheme + "://host/1");
        config.database = redis::database_from(field, value);
    } else if (name.starts_with("tls_")) {
        if (!config.tls.enabled)
            refuse_url(field, value, "needs rediss://");
        redis::read_tls_option(config.tls, name, value);
    } else {
        refuse_url("option", name, "must be one of connect_timeout, reconnect_backoff, db, tls_...");
    }
}

} // namespace

RedisConfig redis_config_from(Url const& url)
{
    if (url.scheme != "redis" && url.scheme != "rediss" && url.scheme != "redis+unix")
        refuse_url("scheme", url.scheme, "must be redis://, rediss:// or redis+unix://");
    redis::check_url_login(url);
    RedisConfig config;
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
    config.tls.enabled = url.scheme == "rediss";
    read_address(config, url);
    for (auto const& [name, value] : url.options)
        read_option(config, url, name, value);
    redis::check_config(config);
    return config;
}

} // namespace tenure
