// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

/** Names the field of one config struct. */
struct Fields {
    std::string_view owner;

    [[noreturn]] void fail(std::string const& field, std::string const& value, std::string const& rule) const
    {
        throw std::invalid_argument(std::string(owner) + "::" + field + " = '" + value + "': " + rule);
    }

    void
    check_duration(std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest) const
    {
        if (value < shortest || value > 1h)
            fail(
                field, std::to_string(value.count()) + "ms",
                "must be from " + std::to_string(shortest.count()) + "ms to one hour");
    }

    void check_address(std::string const& in, std::string const& host, std::uint16_t port) const
    {
        if (host.empty() || host.find('\0') != std::string::npos)
            fail(in + "host", host, "must be a host name or an address");
        if (port == 0)
            fail(in + "port", "0", "must be from 1 to 65535");
    }

    /// what the configs of all stores have
    template <class Config>
    void check_access(Config const& config) const
    {
        if (!config.username.empty() && config.password.empty())
            fail("password", "", "must be given where there is a username");
        if (config.tls.certificate_file.empty() != config.tls.key_file.empty())
            fail(
                config.tls.key_file.empty() ? "tls.key_file" : "tls.certificate_file", "",
                "client certificate and key must be given both or not at all");
        check_duration("connect_timeout", config.connect_timeout, 100ms);
        check_duration("reconnect_backoff", config.reconnect_backoff, 10ms);
    }
};

} // namespace

void check_config(RedisConfig const& config)
{
    Fields const fields{"RedisConfig"};
    if (config.socket_path.empty()) {
        fields.check_address("", config.host, config.port);
    } else {
        // sockaddr_un holds 108 bytes with the closing NUL
        if (config.socket_path.size() > 107 || config.socket_path.find('\0') != std::string::npos)
            fields.fail("socket_path", config.socket_path, "must be at most 107 bytes, none of them NUL");
        if (config.tls.enabled)
            fields.fail("tls.enabled", "true", "must be false for a Unix socket");
    }
    fields.check_access(config);
}

void check_config(RedisClusterConfig const& config)
{
    Fields const fields{"RedisClusterConfig"};
    if (config.seeds.empty() || config.seeds.size() > 64)
        fields.fail("seeds", std::to_string(config.seeds.size()) + " nodes", "must be from 1 to 64");
    for (std::size_t i = 0; i < config.seeds.size(); ++i)
        fields.check_address("seeds[" + std::to_string(i) + "].", config.seeds[i].host, config.seeds[i].port);
    fields.check_access(config);
}

} // namespace tenure::redis
