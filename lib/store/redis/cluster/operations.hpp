// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The operations on ranges that spread over the nodes of a cluster, and on the whole cluster. What concerns the keys of
// one hash slot is done as on one server.
#pragma once

#include "slot_nodes.hpp"

#include "store/redis/diagnose/examine.hpp"
#include "store/redis/operations.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <memory>

namespace tenure::redis
{

/** Claims a key of a range that spreads over the nodes: plain reads find the free ones, and the lowest of them are
 * claimed one after another, each as a range of its own, until one is granted. An owner whose earlier attempt is
 * unanswered is looked for on all nodes first, and nothing is taken while one of them cannot tell. */
void multi_slot_claim(std::shared_ptr<SlotNodes> const& nodes, ClaimRequest request, ReplyHandler<ClaimReply> handler);

/** Looks at all keys of a range that spreads over the nodes, and withdraws from those that bear the owner. Tells also
 * how many keys were freed, as far as that was answered. */
void multi_slot_withdraw(std::shared_ptr<SlotNodes> const& nodes, WithdrawRequest request, CountedWithdrawal handler);

/** Describes the keys of a range that spreads over the nodes: many at a time, each by a call of its own. */
void multi_slot_inspect(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Looks at each master as `examine` does at one server, and at whether all hash slots are served. */
void examine_cluster(
    std::shared_ptr<Cluster> const& cluster, ExamineSettings settings, std::chrono::milliseconds ttl,
    Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::redis
