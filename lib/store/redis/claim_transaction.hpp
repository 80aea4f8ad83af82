// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claim_call.hpp"
#include "node.hpp"

#include <tenure/backend/one_shot.hpp>

#include <vector>

namespace tenure::redis
{

using PendingClaims = std::vector<PendingClaim>;

/** Claims single keys with fencing, for which `may_claim_by_set` is true, in one transaction: a `SET NX` for each, and
 * a draw of the token that all of its grants share.
 *  @param answered  called when the transaction is answered, before any of the handlers */
void claim_in_transaction(NodePtr const& node, PendingClaims claims, OneShot<void()> answered);

} // namespace tenure::redis
