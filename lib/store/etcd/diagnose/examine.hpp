// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/node.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>

namespace tenure::etcd
{

/** Asks the cluster about itself and judges the answers for leases of this ttl. A lease without keys is made and
 * revoked; nothing else is written. */
void examine(NodePtr const& node, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::etcd
