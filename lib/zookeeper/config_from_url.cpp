// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"
#include "url.hpp"
#include <net/url_options.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenure
{

namespace
{

constexpr std::uint16_t zookeeper_port = 2181;

} // namespace

ZookeeperConfig zookeeper_config_from(Url const& url)
{
    using net::refuse_url;
    if (url.scheme != "zookeeper")
        refuse_url("scheme", url.scheme, "must be zookeeper://");
    if (url.hosts.empty())
        throw std::invalid_argument("store URL: hosts: must be at least one for zookeeper://");
    net::check_url_login(url);
    ZookeeperConfig config;
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
    for (auto const& host : url.hosts)
        config.servers.push_back({host.name, host.port.value_or(zookeeper_port)});
    config.chroot = url.path == "/" ? std::string() : url.path;
    for (auto const& [name, value] : url.options) {
        std::string const field = "option " + name;
        auto const duration = [&] { return net::duration_from(field, value); };
        if (name == "tick")
            config.tick = duration();
        else if (name == "shortest_ttl")
            config.shortest_ttl = duration();
        else if (name == "longest_ttl")
            config.longest_ttl = duration();
        else if (name == "connect_timeout")
            config.connect_timeout = duration();
        else
            refuse_url("option", name, "must be one of connect_timeout, tick, shortest_ttl, longest_ttl");
    }
    zookeeper::check_config(config);
    return config;
}

} // namespace tenure
