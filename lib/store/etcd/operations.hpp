// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The requests of a store, as a cluster carries them out. Renewals have a class of their own.
#pragma once

#include "cluster_context.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>

namespace tenure::etcd
{

/** Takes the first free key of the range for the owner. */
void claim(ClusterPtr const& cluster, ClaimRequest request, ReplyHandler<ClaimReply> handler);

/** Deletes the key if it still belongs to the claim. With a quarantine, or `keep_for`, the key moves to a lease of that
 * time, or stays with the one it has. */
void release(ClusterPtr const& cluster, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Ends whatever attempts of the owner have left. */
void withdraw(ClusterPtr const& cluster, WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

/** Reads the owner of each key of the range, page by page; then the time left of up to 1,000 leases, one by one. */
void inspect(ClusterPtr const& cluster, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the owner that was seen by `evicted/<who>`, under a lease of its own that lasts as long as the old one
 * would have. */
void evict(ClusterPtr const& cluster, EvictRequest request, ReplyHandler<EvictReply> handler);

/** Logs in, and reads a key that no pool or lock uses from a majority. Which keys the user may read depends on the
 * pools and locks to come, so the store is ready also if this key is denied. */
void ready(ClusterPtr const& cluster, Deadline not_after, ReplyHandler<ReadyReply> handler);

/** Asks the cluster about itself and judges the answers for leases of this ttl. Creates and revokes a lease without
 * keys, and writes nothing else. */
void examine(
    ClusterPtr const& cluster, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::etcd
