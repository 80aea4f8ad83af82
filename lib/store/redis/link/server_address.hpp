// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The address of a Redis server as announced by sentinels and clusters.
#pragma once

#include <net/endpoint.hpp>

#include <algorithm>
#include <string_view>

namespace tenure::redis
{

using ServerAddress = Endpoint;

/** True if the text looks like a host name or an address. Announced hosts are resolved and shown to people, so they
 *  are checked. Clusters write "?" for an unknown host. */
[[nodiscard]] inline bool may_be_host(std::string_view host) noexcept
{
    return !host.empty() && host != "?" && host.size() <= 253 &&
           std::ranges::all_of(host, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

} // namespace tenure::redis
