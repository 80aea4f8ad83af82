// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::etcd
{

/** Takes the first free key of the range for the owner. */
void claim(NodePtr const& node, ClaimRequest request, ReplyHandler<ClaimReply> handler);

} // namespace tenure::etcd
