// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claim_call.hpp"
#include "claim_transaction.hpp"
#include "node.hpp"

#include <tenure/backend/one_shot.hpp>

namespace tenure::redis
{

/** True where one call may serve both: they want the same of the same pool. */
[[nodiscard]] bool may_share_a_call(ClaimRequest const& one, ClaimRequest const& other);

/** Claims keys of one pool of one page for several owners by one script call: first attempts that may share it.
 *  @param answered  called when the call is answered, before any of the handlers */
void claim_from_pool(NodePtr const& node, PendingClaims claims, OneShot<void()> answered);

} // namespace tenure::redis
