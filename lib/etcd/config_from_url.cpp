// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <net/url_options.hpp>
#include <url.hpp>

#include <charconv>
#include <stdexcept>
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
        net::refuse_url("option connections", text, "must be a number from 1 to 256");
    return number;
}

void read_option(EtcdConfig& config, std::string const& name, std::string const& value)
{
    std::string const field = "option " + name;
    if (name == "connect_timeout")
        config.connect_timeout = net::duration_from(field, value);
    else if (name == "reconnect_backoff")
        config.reconnect_backoff = net::duration_from(field, value);
    else if (name == "connections")
        config.connections = connections_from(value);
    else if (!name.starts_with("tls_"))
        net::refuse_url("option", name, "must be one of connect_timeout, reconnect_backoff, connections, tls_...");
    else if (!config.tls.enabled)
        net::refuse_url(field, value, "needs etcds://");
    else
        net::read_tls_option(config.tls, name, value);
}

} // namespace

EtcdConfig etcd_config_from(Url const& url)
{
    if (url.scheme != "etcd" && url.scheme != "etcds")
        net::refuse_url("scheme", url.scheme, "must be etcd:// or etcds://");
    net::check_url_login(url);
    EtcdConfig config;
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
    config.tls.enabled = url.scheme == "etcds";
    if (url.hosts.empty())
        throw std::invalid_argument("store URL: hosts: must be at least one for " + url.scheme + "://");
    if (url.path.size() > 1)
        net::refuse_url("path", url.path, "must not be there: a prefix belongs to the pool or lock");
    for (auto const& host : url.hosts)
        config.endpoints.push_back({host.name, host.port.value_or(etcd_port)});
    for (auto const& [name, value] : url.options)
        read_option(config, name, value);
    etcd::check_config(config);
    return config;
}

} // namespace tenure
