// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::etcd
{

/** Tells who holds which key of the range, page by page. How long it is held for is asked for each key by itself, of up
 * to 1,000 keys. */
void inspect(NodePtr const& node, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the owner that was seen by `evicted/<who>`, under a lease of its own that lasts as long as the old one
 * would have. */
void evict(NodePtr const& node, EvictRequest request, ReplyHandler<EvictReply> handler);

} // namespace tenure::etcd
