// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How addresses of servers are written in names, errors and log lines.
#pragma once

#include <tenure/stores/endpoint.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tenure::net
{

/** "host:port"; an IPv6 address stands in brackets. */
[[nodiscard]] inline std::string endpoint_text(std::string const& host, std::uint16_t port)
{
    bool const is_ipv6 = host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/** "host:port,host:port" */
[[nodiscard]] inline std::string endpoints_text(std::vector<Endpoint> const& endpoints)
{
    std::string text;
    for (auto const& [host, port] : endpoints)
        text += (text.empty() ? "" : ",") + endpoint_text(host, port);
    return text;
}

} // namespace tenure::net
