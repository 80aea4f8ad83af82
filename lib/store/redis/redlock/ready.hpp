// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::redlock
{

/** Ready as soon as a majority of the nodes is; refused as soon as a person has to act on so many of them that no
 * majority is left. */
void ready(QuorumPtr const& quorum, Deadline not_after, ReplyHandler<ReadyReply> handler);

} // namespace tenure::redlock
