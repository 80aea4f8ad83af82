// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace tenure
{

/** Where a server listens. */
struct Endpoint {
    /// host name or address
    std::string host;
    /// 1..65535, and to be set: 0 is refused. In a URL it may be left out, for the usual one
    std::uint16_t port = 0;

    friend bool operator==(Endpoint const&, Endpoint const&) = default;
    friend auto operator<=>(Endpoint const&, Endpoint const&) = default;
};

/** Turns the address of a server into the one at which this program can reach it, for servers behind NAT or in
 * containers that announce addresses of their own network. Asked before each connection, for configured addresses too:
 * return what needs no change as it is. Called on the store's strand, so it must not block; an exception fails that
 * attempt to connect. With TLS the certificate must bear the host that is returned, unless `TlsConfig::server_name`
 * says otherwise. */
using AddressMap = std::function<Endpoint(Endpoint const& announced)>;

} // namespace tenure
