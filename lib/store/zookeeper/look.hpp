// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::zookeeper
{

/** Reads the children of the range's parent, and what each of them holds. */
void inspect(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the owner in the node, which stays with the session that made it. */
void evict(EnsemblePtr ensemble, EvictRequest request, ReplyHandler<EvictReply> handler);

} // namespace tenure::zookeeper
