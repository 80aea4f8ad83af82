// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::redis
{

/** Tells who holds which key of the range, page by page. */
void inspect(NodePtr const& node, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the owner that was seen by `evicted/<who>` for the rest of its ttl. */
void evict(NodePtr const& node, EvictRequest request, ReplyHandler<EvictReply> handler);

/** The same, with the last token from each key's own fence key. */
void inspect_with_tokens(
    NodePtr const& node, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

} // namespace tenure::redis
