// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The operations of a quorum but claims.
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace tenure::redlock
{

/** Extends the claims on all nodes. Of each claim a majority decides, and its time counts from the earliest of its
 * requests. A node that lost a claim (a restart without its data) gets it back once a majority has proven it. */
void renew(QuorumPtr const& quorum, std::vector<RenewRequest> const& requests, RenewHandler handler);

/** Frees the key on all nodes, and answers as soon as a majority has answered. */
void release(QuorumPtr const& quorum, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Frees what bears the owner on all nodes, and answers as soon as a majority has. */
void withdraw(QuorumPtr const& quorum, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** Replaces the owner on all nodes that bear it. */
void evict(QuorumPtr const& quorum, EvictRequest request, ReplyHandler<EvictReply> handler);

/** Describes each key as a majority of the nodes does. */
void inspect(QuorumPtr const& quorum, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Ready as soon as a majority of the nodes is; refused as soon as so many nodes need a person to act that no majority
 * is left. */
void ready(QuorumPtr const& quorum, Deadline not_after, ReplyHandler<ReadyReply> handler);

/** The findings about each node under its name, and those about all of them together. */
void examine(
    QuorumPtr const& quorum, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler);

/** Watches the range on all nodes. Each node announces a release, one after the other: one hint is passed on, when a
 * majority has announced it or a moment after the first. */
[[nodiscard]] std::unique_ptr<Watch>
watch(QuorumPtr const& quorum, KeyRangePtr const& range, std::function<void(WatchEvent)> handler);

} // namespace tenure::redlock
