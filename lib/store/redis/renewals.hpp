// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "server_context.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <vector>

namespace tenure::redis
{

/// of one script call: it reads all keys at once, and Lua takes at most 8,000 values
inline constexpr std::size_t renewals_per_call = 100;

/** Renews leases on one server. Renewals of one call are sent together, up to 100 keys with one ttl per script call.
 *  Each gets its own answer, and a refused one does not affect the others.
 *
 *  A renewal waits in the queue of a working connection until its `not_after`. Without a connection it fails at once.
 */
void renew(ServerPtr const& server, std::vector<RenewRequest> requests, RenewHandler handler);

} // namespace tenure::redis
