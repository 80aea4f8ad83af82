// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include <tenure/backend/backend.hpp>

#include <memory>

namespace tenure::redis
{

/** Claims a key of a range that spreads over the nodes: plain reads find the free ones, and the lowest of them are
 * claimed one after another, each as a range of its own, until one is granted. An owner whose earlier attempt is
 * unanswered is looked for on all nodes first, and nothing is taken while one of them cannot tell. */
void spread_claim(std::shared_ptr<SlotNodes> const& nodes, ClaimRequest request, ReplyHandler<ClaimReply> handler);

} // namespace tenure::redis
