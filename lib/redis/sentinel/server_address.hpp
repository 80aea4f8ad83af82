// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tenure::redis
{

/** Where a server listens: a host name or an address, and a port. */
struct ServerAddress {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(ServerAddress const&, ServerAddress const&) = default;
    friend auto operator<=>(ServerAddress const&, ServerAddress const&) = default;
};

/** "host:port", IPv6 in brackets. */
[[nodiscard]] inline std::string to_string(ServerAddress const& address)
{
    bool const is_ipv6 = address.host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

} // namespace tenure::redis
