// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Text form of server addresses in names, errors and log lines.
#pragma once

#include <tenure/stores/endpoint.hpp>

#include <string>
#include <vector>

namespace tenure
{

/** "host:port"; an IPv6 address gets brackets. */
[[nodiscard]] inline std::string to_string(Endpoint const& endpoint)
{
    auto const& [host, port] = endpoint;
    bool const is_ipv6 = host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/** "host:port,host:port" */
[[nodiscard]] inline std::string to_string(std::vector<Endpoint> const& endpoints)
{
    std::string text;
    for (auto const& endpoint : endpoints)
        text += (text.empty() ? "" : ",") + to_string(endpoint);
    return text;
}

} // namespace tenure
