// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::etcd
{

/** Logs in, and reads a key that is nobody's from a majority. Which keys the user may read depends on the pools and
 * locks to come: where this one is denied, the store is ready all the same. */
void ready(NodePtr const& node, Deadline not_after, ReplyHandler<ReadyReply> handler);

} // namespace tenure::etcd
