// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <memory>

namespace tenure::redis
{

/** One claim that leaves the line alone. */
using ClaimAttempt = std::function<void(ClaimRequest, ReplyHandler<ClaimReply>)>;

/** Claims a key of a range whose line is in another hash slot than its keys, for a request that waits.
 *
 *  Where the attempt finds all keys held, the store joins the line, and once that is answered it tries again: a release
 * between the attempt and the line named somebody else or nobody, but its key is free by now. A later one finds the
 * name in the line. A grant leaves the line. */
void claim_in_line(
    std::shared_ptr<SlotNodes> const& nodes, ClaimAttempt attempt, ClaimRequest request,
    ReplyHandler<ClaimReply> handler);

} // namespace tenure::redis
