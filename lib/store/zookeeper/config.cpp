// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of ZooKeeper: parsing, checks, and its name.
#include "config.hpp"

#include <config/rules.hpp>
#include <net/endpoint.hpp>

#include <algorithm>
#include <string_view>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;

namespace
{

constexpr char const* jute_maxbuffer_rule = "must be a number of bytes from 65536 to 1073741824";

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
        refuse_config("ZookeeperConfig::chroot", chroot, rule);
}

} // namespace

ZookeeperConfig config_from(Url const& url)
{
    ZookeeperConfig config;
    config.servers = endpoints_from(url, 2181);
    config.chroot = url.path == "/" ? std::string() : url.path;
    read_login(config, url);
    UrlOptions options(url);
    options.read("connect_timeout", config.connect_timeout);
    options.read("tick", config.tick);
    options.read("shortest_ttl", config.shortest_ttl);
    options.read("longest_ttl", config.longest_ttl);
    options.read_number("jute_maxbuffer", config.jute_maxbuffer, jute_maxbuffer_rule);
    options.refuse_others();
    return config;
}

TtlLimits limits_of(ZookeeperConfig const& config) noexcept
{
    // the library refuses shorter ttls for every store
    return {
        std::max<std::chrono::milliseconds>(config.shortest_ttl.value_or(config.tick * 2), 100ms),
        config.longest_ttl.value_or(config.tick * 20)};
}

void check_config(ZookeeperConfig const& config)
{
    std::string const prefix = "ZookeeperConfig::";
    check_endpoints(prefix, "servers", config.servers);
    check_chroot(config.chroot);
    if (config.username.find_first_of(std::string_view(":\0", 2)) != std::string::npos)
        refuse_config(prefix + "username", config.username, "must not hold ':' or NUL");
    if (config.username.empty() != config.password.empty())
        refuse_config(
            prefix + (config.username.empty() ? "username" : "password"), "",
            "must be given where there is a " + std::string(config.username.empty() ? "password" : "username"));
    check_duration(prefix + "tick", config.tick, 10ms, 60s);
    check_duration(prefix + "shortest_ttl", config.shortest_ttl.value_or(100ms), 100ms, 24h);
    check_duration(prefix + "longest_ttl", config.longest_ttl.value_or(100ms), 100ms, 24h);
    auto const limits = limits_of(config);
    if (limits.shortest > limits.longest)
        refuse_config(
            prefix + "longest_ttl", duration_text(limits.longest),
            "must not be shorter than the shortest ttl, " + duration_text(limits.shortest));
    if (limits.shortest < config.tick * 3 / 2)
        refuse_config(
            prefix + "shortest_ttl", duration_text(limits.shortest),
            "must be at least one and a half ticks, " + duration_text(config.tick * 3 / 2));
    check_duration(prefix + "connect_timeout", config.connect_timeout, 100ms, 1h);
    if (config.jute_maxbuffer < 64U * 1024 || config.jute_maxbuffer > 1024U * 1024 * 1024)
        refuse_config(prefix + "jute_maxbuffer", std::to_string(config.jute_maxbuffer), jute_maxbuffer_rule);
}

std::string describe(ZookeeperConfig const& config)
{
    return schemes::zookeeper.prefix() + to_string(config.servers) + config.chroot;
}

} // namespace tenure::zookeeper
