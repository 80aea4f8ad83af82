// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include <tenure/backend/backend.hpp>

#include <memory>

namespace tenure::redis
{

/** Describes the keys of a range that spreads over the nodes: many at a time, each by a call of its own. */
void spread_inspect(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

} // namespace tenure::redis
