// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend.hpp>

#include <chrono>
#include <string>

namespace tenure::redis
{

/** Asks the server about itself, as far as the user may, and judges the answers for leases of this ttl. Nothing is
 * written. What the user may not ask lands in the server's ACL LOG and becomes an unverified finding: this is for a
 * person at a terminal.
 *
 *  @param username  whose permissions to look at; empty: the default user's */
void examine(
    NodePtr const& node, std::string username, std::chrono::milliseconds ttl, Instant not_after,
    ReplyHandler<Findings> handler);

} // namespace tenure::redis
