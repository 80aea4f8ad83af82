// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::zookeeper
{

/** Creates the node of a lock, or that of the first free key of a pool. */
void claim(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler);

} // namespace tenure::zookeeper
