// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend.hpp>

namespace tenure::redis
{

/** Claims the first free key of the range: one command for a named key without fencing, else one script call for each
 * page of the range until one is free. An owner whose earlier attempt is unanswered is looked for in the whole range
 * first. */
void claim(NodePtr const& node, ClaimRequest&& request, ReplyHandler<ClaimReply> handler);

} // namespace tenure::redis
