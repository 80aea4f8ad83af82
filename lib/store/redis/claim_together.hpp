// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"
#include "node_backend.hpp"

namespace tenure::redis
{

/** See `NodeBackend::claim_together`. */
void claim_together(NodePtr const& node, ClaimRequest request, ReplyHandler<ClaimReply> handler);

} // namespace tenure::redis
