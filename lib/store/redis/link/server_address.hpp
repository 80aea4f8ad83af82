// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <net/endpoint.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** Where a server listens: a host name or an address, and a port. */
struct ServerAddress {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(ServerAddress const&, ServerAddress const&) = default;
    friend auto operator<=>(ServerAddress const&, ServerAddress const&) = default;
};

/** What another server calls a host is resolved, and shown to people: it has to look like a name or an address.
 * Clusters write "?" where they know none. */
[[nodiscard]] inline bool may_be_host(std::string_view host) noexcept
{
    return !host.empty() && host != "?" && host.size() <= 253 &&
           std::ranges::all_of(host, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

[[nodiscard]] inline std::string to_string(ServerAddress const& address)
{
    return net::endpoint_text(address.host, address.port);
}

} // namespace tenure::redis
