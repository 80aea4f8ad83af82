// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

[[noreturn]] void fail(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument("RedisConfig::" + field + " = '" + value + "': " + rule);
}

void check_duration(std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest)
{
    if (value < shortest || value > 1h)
        fail(
            field, std::to_string(value.count()) + "ms",
            "must be from " + std::to_string(shortest.count()) + "ms to one hour");
}

} // namespace

void check_config(RedisConfig const& config)
{
    if (config.socket_path.empty()) {
        if (config.host.empty() || config.host.find('\0') != std::string::npos)
            fail("host", config.host, "must be a host name or an address");
        if (config.port == 0)
            fail("port", "0", "must be from 1 to 65535");
    } else {
        // sockaddr_un holds 108 bytes with the closing NUL
        if (config.socket_path.size() > 107 || config.socket_path.find('\0') != std::string::npos)
            fail("socket_path", config.socket_path, "must be at most 107 bytes, none of them NUL");
        if (config.tls.enabled)
            fail("tls.enabled", "true", "must be false for a Unix socket");
    }
    if (!config.username.empty() && config.password.empty())
        fail("password", "", "must be given where there is a username");
    if (config.tls.certificate_file.empty() != config.tls.key_file.empty())
        fail(
            config.tls.key_file.empty() ? "tls.key_file" : "tls.certificate_file", "",
            "client certificate and key must be given both or not at all");
    check_duration("connect_timeout", config.connect_timeout, 100ms);
    check_duration("reconnect_backoff", config.reconnect_backoff, 10ms);
}

} // namespace tenure::redis
