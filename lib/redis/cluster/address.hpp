// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <string>

namespace tenure::redis
{

/** Where a node of a cluster is. */
struct Address {
    std::string host;
    std::uint16_t port = 0;

    /** `10.0.0.1:6379`, `[::1]:6379` */
    [[nodiscard]] std::string text() const
    {
        bool const is_ipv6 = host.find(':') != std::string::npos;
        return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }

    friend bool operator==(Address const&, Address const&) = default;
    friend auto operator<=>(Address const&, Address const&) = default;
};

} // namespace tenure::redis
