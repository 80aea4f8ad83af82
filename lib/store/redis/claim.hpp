// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

namespace tenure::redis
{

/** Claims the first free key of the range: one command for a named key without fencing, else one script call for each
 * page of the range until one is free. An owner whose earlier attempt is unanswered is looked for in the whole range
 * first. */
void claim(NodePtr const& node, ClaimRequest&& request, ReplyHandler<ClaimReply> handler);

/** Goes on with a claim whose key a SET has found held. */
void claim_held_key(NodePtr const& node, ClaimRequest&& request, ReplyHandler<ClaimReply> handler);

/** True where `SET NX` suffices to claim: a first attempt at a single key, which an own claim cannot hold yet. One that
 * waits in line needs the script, since it most likely finds the key held. */
[[nodiscard]] bool may_claim_by_set(Node const& node, ClaimRequest const& request);

} // namespace tenure::redis
