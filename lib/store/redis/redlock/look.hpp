// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::redlock
{

/** Tells of each key what a majority of the nodes tells. */
void inspect(QuorumPtr const& quorum, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** The findings about each node under its name, and those about all of them together. */
void examine(
    QuorumPtr const& quorum, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::redlock
