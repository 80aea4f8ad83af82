// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"
#include "url.hpp"

#include <charconv>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tenure
{

namespace
{

[[noreturn]] void fail(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument("store URL: " + field + " '" + value.substr(0, 200) + "': " + rule);
}

std::uint32_t database_from(std::string const& field, std::string const& text)
{
    std::uint32_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        fail(field, text, "must be the number of a database, 0 and up");
    return number;
}

bool boolean_from(std::string const& field, std::string const& text)
{
    if (text != "true" && text != "false")
        fail(field, text, "must be true or false");
    return text == "true";
}

std::chrono::milliseconds duration_from(std::string const& field, std::string const& text)
{
    auto const duration = parse_duration(text);
    if (!duration)
        fail(field, text, "must be a duration such as 500ms or 2s");
    return *duration;
}

void read_address(RedisConfig& config, Url const& url)
{
    if (url.scheme == "redis+unix") {
        if (!url.hosts.empty())
            fail("host", url.hosts.front().name, "must not be there: write redis+unix:///path/to/socket");
        if (url.path.size() < 2)
            fail("path", url.path, "must be the path of the server's socket: redis+unix:///path/to/socket");
        config.socket_path = url.path;
        return;
    }
    if (url.hosts.size() != 1)
        throw std::invalid_argument("store URL: hosts: must be exactly one for " + url.scheme + "://");
    config.host = url.hosts.front().name;
    config.port = url.hosts.front().port.value_or(config.port);
    if (url.path.size() > 1)
        config.database = database_from("path", url.path.substr(1));
}

/// The options that all configs have; false: it is another one.
template <class Config>
bool read_shared_option(
    Config& config, std::string const& name, std::string const& value, std::string const& tls_scheme)
{
    std::string const field = "option " + name;
    if (name == "connect_timeout")
        config.connect_timeout = duration_from(field, value);
    else if (name == "reconnect_backoff")
        config.reconnect_backoff = duration_from(field, value);
    else if (!name.starts_with("tls_"))
        return false;
    else if (!config.tls.enabled)
        fail(field, value, "needs " + tls_scheme + "://");
    else if (name == "tls_ca")
        config.tls.ca_file = value;
    else if (name == "tls_cert")
        config.tls.certificate_file = value;
    else if (name == "tls_key")
        config.tls.key_file = value;
    else if (name == "tls_server_name")
        config.tls.server_name = value;
    else if (name == "tls_verify")
        config.tls.verify = boolean_from(field, value);
    else
        fail("option", name, "must be tls_ca, tls_cert, tls_key, tls_server_name or tls_verify");
    return true;
}

void read_option(RedisConfig& config, Url const& url, std::string const& name, std::string const& value)
{
    if (read_shared_option(config, name, value, "rediss"))
        return;
    std::string const field = "option " + name;
    if (name != "db")
        fail("option", name, "must be one of connect_timeout, reconnect_backoff, db, tls_...");
    if (url.scheme != "redis+unix")
        fail(field, value, "belongs to redis+unix://; write the database as path: " + url.scheme + "://host/1");
    config.database = database_from(field, value);
}

template <class Config>
void read_login(Config& config, Url const& url)
{
    if (url.user && !url.password)
        throw std::invalid_argument(
            "store URL: password: must follow the user (user:password@host; without user :password@host)");
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
}

} // namespace

RedisConfig redis_config_from(Url const& url)
{
    if (url.scheme != "redis" && url.scheme != "rediss" && url.scheme != "redis+unix")
        fail("scheme", url.scheme, "must be redis://, rediss:// or redis+unix://");
    RedisConfig config;
    read_login(config, url);
    config.tls.enabled = url.scheme == "rediss";
    read_address(config, url);
    for (auto const& [name, value] : url.options)
        read_option(config, url, name, value);
    redis::check_config(config);
    return config;
}

RedisClusterConfig redis_cluster_config_from(Url const& url)
{
    if (url.scheme != "redis+cluster" && url.scheme != "rediss+cluster")
        fail("scheme", url.scheme, "must be redis+cluster:// or rediss+cluster://");
    RedisClusterConfig config;
    read_login(config, url);
    config.tls.enabled = url.scheme == "rediss+cluster";
    if (url.hosts.empty())
        throw std::invalid_argument("store URL: hosts: must be at least one for " + url.scheme + "://");
    if (url.path.size() > 1)
        fail("path", url.path.substr(1), "must not be there: a cluster has only database 0");
    for (auto const& host : url.hosts)
        config.seeds.push_back({host.name, host.port.value_or(RedisClusterConfig::Seed{}.port)});
    for (auto const& [name, value] : url.options)
        if (!read_shared_option(config, name, value, "rediss+cluster"))
            fail("option", name, "must be one of connect_timeout, reconnect_backoff, tls_...");
    redis::check_config(config);
    return config;
}

} // namespace tenure
