// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

#include <string>

namespace tenure::redlock
{

/** Frees what a node has granted to the owner beyond what is wanted. */
void give_back(
    redis::NodeBackend& node, KeyRangePtr key, std::string owner, Instant not_after,
    ReplyHandler<ReleaseReply> handler);

} // namespace tenure::redlock
