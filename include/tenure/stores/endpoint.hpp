// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace tenure
{

/** The address of a server. */
struct Endpoint {
    /// host name or address
    std::string host;
    /// 1..65535, required: 0 is refused. A URL may omit it, for the usual port
    std::uint16_t port = 0;

    friend bool operator==(Endpoint const&, Endpoint const&) = default;
    friend auto operator<=>(Endpoint const&, Endpoint const&) = default;
};

/** Maps an announced address of a server to a reachable one, for servers behind NAT or in containers that announce
 * addresses of their own network. Called before each connection, also for configured addresses: return an address that
 * needs no change. Called on the store's strand, so it must not block; an exception fails that attempt to connect. With
 * TLS the certificate must contain the returned host, unless `TlsConfig::server_name` says otherwise. */
using AddressMap = std::function<Endpoint(Endpoint const& announced)>;

} // namespace tenure
