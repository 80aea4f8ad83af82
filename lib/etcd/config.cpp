// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"

#include <config/rules.hpp>
#include <config/schemes.hpp>
#include <config/url_options.hpp>
#include <net/endpoint.hpp>

#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>

namespace tenure
{

namespace
{

constexpr std::uint16_t etcd_port = 2379;

std::uint32_t connections_from(std::string const& text)
{
    std::uint32_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        refuse_url("option connections", text, "must be a number from 1 to 256");
    return number;
}

void read_option(EtcdConfig& config, std::string const& name, std::string const& value)
{
    std::string const field = "option " + name;
    if (name == "connect_timeout")
        config.connect_timeout = duration_from(field, value);
    else if (name == "reconnect_backoff")
        config.reconnect_backoff = duration_from(field, value);
    else if (name == "connections")
        config.connections = connections_from(value);
    else if (!name.starts_with("tls_"))
        refuse_url("option", name, "must be one of connect_timeout, reconnect_backoff, connections, tls_...");
    else if (!config.tls.enabled)
        refuse_url(field, value, "needs etcds://");
    else
        read_tls_option(config.tls, name, value);
}

} // namespace

EtcdConfig etcd_config_from(Url const& url)
{
    check_url_login(url);
    EtcdConfig config;
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
    config.tls.enabled = url.scheme == schemes::etcd.over_tls;
    if (url.hosts.empty())
        refuse_url("hosts", "must be at least one for " + url.scheme + "://");
    if (url.path.size() > 1)
        refuse_url("path", url.path, "must not be there: a prefix belongs to the pool or lock");
    for (auto const& host : url.hosts)
        config.endpoints.push_back({host.name, host.port.value_or(etcd_port)});
    for (auto const& [name, value] : url.options)
        read_option(config, name, value);
    etcd::check_config(config);
    return config;
}

namespace etcd
{

void check_config(EtcdConfig const& config)
{
    std::string const prefix = "EtcdConfig::";
    if (config.endpoints.empty() || config.endpoints.size() > 64)
        refuse_config(
            prefix + "endpoints", std::to_string(config.endpoints.size()) + " endpoints", "must be from 1 to 64");
    for (std::size_t i = 0; i < config.endpoints.size(); ++i)
        check_address(
            prefix + "endpoints[" + std::to_string(i) + "].", config.endpoints[i].host, config.endpoints[i].port);
    check_login(prefix, config.username, config.password, config.credentials);
    if (config.username.empty() && !config.password.empty())
        refuse_config(prefix + "username", "", "must be given where there is a password");
    check_tls(prefix, config.tls);
    if (config.connections == 0 || config.connections > 256)
        refuse_config(prefix + "connections", std::to_string(config.connections), "must be from 1 to 256");
    check_limits(prefix, config.connect_timeout, config.reconnect_backoff);
}

std::string describe(EtcdConfig const& config)
{
    return schemes::etcd.prefix(config.tls.enabled) + net::endpoints_text(config.endpoints);
}

} // namespace etcd

} // namespace tenure
