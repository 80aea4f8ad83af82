// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations on a quorum except claims.
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace tenure::redlock
{

/** Extends the claims on all nodes. A majority decides each claim, and its time counts from the earliest request of
 *  that majority. A node that lost a claim (a restart without its data) gets it back once a majority has proven it. */
void renew(QuorumPtr const& quorum, std::vector<RenewRequest> const& requests, RenewHandler handler);

/** Frees the key on all nodes, and answers once a majority has answered. */
void release(QuorumPtr const& quorum, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Frees all keys of the owner on all nodes, and answers once a majority has answered. */
void withdraw(QuorumPtr const& quorum, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** Replaces the owner on all nodes that have it. */
void evict(QuorumPtr const& quorum, EvictRequest request, ReplyHandler<EvictReply> handler);

/** Describes each key by the reports of a majority. */
[[nodiscard]] store::Request<InspectReply> inspect(QuorumPtr quorum, InspectRequest request);

/** Lists the keys of the nodes that answer, if they are a majority. */
[[nodiscard]] store::Request<ListReply> list(QuorumPtr quorum, ListRequest request);

/** Ready once a majority of the nodes is ready. Fails once no majority is left without the
 *  nodes that need a person to act. */
void ready(QuorumPtr const& quorum, Deadline not_after, ReplyHandler<ReadyReply> handler);

/** Collects the findings about each node under its name, and the findings about all of them together. */
[[nodiscard]] store::Request<Findings> examine(QuorumPtr quorum, std::chrono::milliseconds ttl, Deadline not_after);

/** Watches the range on all nodes. Each node announces a release separately; one hint is passed on, when a majority
 *  has announced it or shortly after the first. */
[[nodiscard]] std::unique_ptr<Watch> watch(QuorumPtr const& quorum, KeyRangePtr const& range, WatchHandler handler);

} // namespace tenure::redlock
