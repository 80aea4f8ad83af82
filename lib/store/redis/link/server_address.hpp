// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The address of a Redis server as sentinels and clusters announce it.
#pragma once

#include <net/endpoint.hpp>

#include <algorithm>
#include <string_view>

namespace tenure::redis
{

using ServerAddress = Endpoint;

/** What another server calls a host is resolved, and shown to people: it has to look like a name or an address.
 * Clusters write "?" where they know none. */
[[nodiscard]] inline bool may_be_host(std::string_view host) noexcept
{
    return !host.empty() && host != "?" && host.size() <= 253 &&
           std::ranges::all_of(host, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

} // namespace tenure::redis
