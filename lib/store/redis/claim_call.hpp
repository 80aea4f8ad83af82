// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"
#include "store/redis/scripts/script.hpp"

#include <tenure/backend/backend.hpp>

#include <span>

namespace tenure::redis
{

/** A claim that is to be answered. */
struct PendingClaim {
    ClaimRequest request;
    ReplyHandler<ClaimReply> handler;
};

/** A call of one of the claiming scripts (see scripts.hpp): all but its keys.
 *  @param survey     a busy answer shall tell when the first key expires
 *  @param others     the further owners of `first_free_each`
 *  @param may_close  the script is one of those for after a failover */
[[nodiscard]] ScriptCall claim_call(
    Node const& node, Script const& script, ClaimRequest const& request, bool survey,
    std::span<PendingClaim const> others, bool may_close);

} // namespace tenure::redis
