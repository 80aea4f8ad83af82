// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config.hpp"

#include <config/rules.hpp>
#include <config/url_options.hpp>
#include <net/endpoint.hpp>

#include <algorithm>
#include <string_view>

namespace tenure
{

ZookeeperConfig zookeeper_config_from(Url const& url)
{
    ZookeeperConfig config;
    config.servers = endpoints_from(url, 2181);
    config.chroot = url.path == "/" ? std::string() : url.path;
    read_login(config, url);
    read_options(
        url, {
                 {"connect_timeout", &config.connect_timeout},
                 {"tick", &config.tick},
                 {"shortest_ttl", &config.shortest_ttl},
                 {"longest_ttl", &config.longest_ttl},
             });
    return config;
}

namespace zookeeper
{

using namespace std::chrono_literals;

namespace
{

[[noreturn]] void refuse(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument("ZookeeperConfig::" + field + " = '" + value + "': " + rule);
}

void check_duration(
    std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest,
    std::chrono::milliseconds longest)
{
    if (value < shortest || value > longest)
        refuse(
            field, std::to_string(value.count()) + "ms",
            "must be from " + std::to_string(shortest.count()) + "ms to " + std::to_string(longest.count()) + "ms");
}

void check_servers(ZookeeperConfig const& config)
{
    if (config.servers.empty() || config.servers.size() > 64)
        refuse("servers", std::to_string(config.servers.size()) + " servers", "must be from 1 to 64");
    for (std::size_t i = 0; i < config.servers.size(); ++i) {
        auto const field = "servers[" + std::to_string(i) + "].";
        auto const& [host, port] = config.servers[i];
        // the C client takes a list with commas, and a path behind it
        if (host.empty() || host.find_first_of(std::string_view("\0,/ ", 4)) != std::string::npos)
            refuse(field + "host", host, "must be a host name or an address");
        if (port == 0)
            refuse(field + "port", "0", "must be from 1 to 65535");
    }
}

void check_chroot(std::string const& chroot)
{
    if (chroot.empty())
        return;
    std::string const rule = "must be a path like /app/locks: printable ASCII, no empty part, no '.' or '..', at most "
                             "512 bytes, not below /zookeeper";
    bool good = chroot.front() == '/' && chroot.back() != '/' && chroot.size() <= 512;
    for (char const c : chroot)
        good = good && c > ' ' && c < '\x7f';
    for (std::size_t begin = 1; good && begin <= chroot.size();) {
        auto const end = std::min(chroot.find('/', begin), chroot.size());
        auto const part = std::string_view(chroot).substr(begin, end - begin);
        good = !part.empty() && part != "." && part != ".." && !(begin == 1 && part == "zookeeper");
        begin = end + 1;
    }
    if (!good)
        refuse("chroot", chroot, rule);
}

} // namespace

Backend::TtlLimits limits_of(ZookeeperConfig const& config) noexcept
{
    // shorter ones are refused by the library for every store
    return {
        std::max<std::chrono::milliseconds>(config.shortest_ttl > 0ms ? config.shortest_ttl : config.tick * 2, 100ms),
        config.longest_ttl > 0ms ? config.longest_ttl : config.tick * 20};
}

void check_config(ZookeeperConfig const& config)
{
    check_servers(config);
    check_chroot(config.chroot);
    if (config.username.find_first_of(std::string_view(":\0", 2)) != std::string::npos)
        refuse("username", config.username, "must not hold ':' or NUL");
    if (config.username.empty() != config.password.empty())
        refuse(
            config.username.empty() ? "username" : "password", "",
            "must be given where there is a " + std::string(config.username.empty() ? "password" : "username"));
    check_duration("tick", config.tick, 10ms, 60s);
    if (config.shortest_ttl != 0ms)
        check_duration("shortest_ttl", config.shortest_ttl, 100ms, 24h);
    if (config.longest_ttl != 0ms)
        check_duration("longest_ttl", config.longest_ttl, 100ms, 24h);
    auto const limits = limits_of(config);
    if (limits.shortest > limits.longest)
        refuse(
            "longest_ttl", std::to_string(limits.longest.count()) + "ms",
            "must not be shorter than the shortest ttl, " + std::to_string(limits.shortest.count()) + "ms");
    if (limits.shortest < config.tick * 3 / 2)
        refuse(
            "shortest_ttl", std::to_string(limits.shortest.count()) + "ms",
            "must be at least one and a half ticks, " + std::to_string((config.tick * 3 / 2).count()) + "ms");
    check_duration("connect_timeout", config.connect_timeout, 100ms, 1h);
}

std::string describe(ZookeeperConfig const& config)
{
    return schemes::zookeeper.prefix() + net::endpoints_text(config.servers) + config.chroot;
}

} // namespace zookeeper

} // namespace tenure
