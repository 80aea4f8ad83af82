// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations on spread ranges and on the whole cluster. Operations on keys of one hash slot are those of one server.
#pragma once

#include "slot_contexts.hpp"

#include "runtime/names.hpp"
#include "store/redis/diagnose/examine.hpp"
#include "store/redis/operations.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <memory>

namespace tenure::redis
{

/** Claims a key of a spread range: plain reads find the free keys, and the lowest of them are claimed one after
 *  another, each as a range of one key, until one is granted. If an earlier attempt of the owner is unanswered, all
 *  nodes are searched for it first, and no key is taken while a node does not answer. */
[[nodiscard]] store::Request<ClaimReply> multi_slot_claim(std::shared_ptr<SlotContexts> slots, ClaimRequest request);

/** Reads all keys of a spread range, and withdraws from the keys that have the owner. */
[[nodiscard]] store::Request<CountedWithdrawReply>
multi_slot_withdraw(std::shared_ptr<SlotContexts> slots, WithdrawRequest request);

/** Describes the keys of a spread range: many at a time, one call per key. */
[[nodiscard]] store::Request<InspectReply>
multi_slot_inspect(std::shared_ptr<SlotContexts> slots, InspectRequest request);

/** Examines each master as `examine` does for one server, and checks that all hash slots are served. */
[[nodiscard]] store::Request<Findings> examine_cluster(
    std::shared_ptr<Cluster> cluster, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after);

/** Waits for a map of the hash slots. False if the deadline passes first, or if waiting is useless. */
[[nodiscard]] store::Request<bool> find_map(std::shared_ptr<Cluster> cluster, Deadline not_after);

/** Lists the keys of all masters. */
[[nodiscard]] store::Request<ListReply> list_cluster(std::shared_ptr<Cluster> cluster, ListRequest request);

} // namespace tenure::redis
