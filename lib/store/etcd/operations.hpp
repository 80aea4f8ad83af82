// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations on a cluster.
#pragma once

#include "cluster_context.hpp"
#include "runtime/names.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>

namespace tenure::etcd
{

/** Claims the first free key of the range for the owner. */
void claim(ClusterPtr const& cluster, ClaimRequest request, ReplyHandler<ClaimReply> handler);

/** Renews a claim by a keep-alive of its lease, and a read that proves it. A member may answer a keep-alive although
 *  another leader was elected, which lets the lease expire earlier; and the answer says nothing about the key. So a
 * read that a majority confirms must show the key unchanged, and the term of the leader. */
void renew(ClusterPtr const& cluster, RenewRequest request, ReplyHandler<RenewReply> handler);

/** Deletes the key if it still belongs to the claim. With a quarantine, or `keep_for`, the key moves to a lease of
 *  that time, or stays with its own. */
[[nodiscard]] store::Request<ReleaseReply> release(ClusterPtr cluster, ReleaseRequest request);

/** Ends all claims that attempts of the owner have left. */
[[nodiscard]] store::Request<WithdrawReply> withdraw(ClusterPtr cluster, WithdrawRequest request);

/** Reads the owner of each key of the range, page by page; then the remaining times of up to 1,000 leases, one by one.
 */
[[nodiscard]] store::Request<InspectReply> inspect(ClusterPtr cluster, InspectRequest request);

/** Reads the names of the keys with the prefix, page by page. */
[[nodiscard]] store::Request<ListReply> list(ClusterPtr cluster, ListRequest request);

/** Replaces the given owner by `evicted/<who>`, under a new lease that lasts as long as the old one would have. */
[[nodiscard]] store::Request<EvictReply> evict(ClusterPtr cluster, EvictRequest request);

/** Logs in, and reads a key that no pool or lock uses from a majority. The keys of later pools and locks are unknown
 *  here, so the store is ready even if this key is denied. */
[[nodiscard]] store::Request<ReadyReply> ready(ClusterPtr cluster, Deadline not_after);

/** Reads facts about the cluster and judges them for leases of this ttl. It creates and revokes a lease without keys,
 *  and writes nothing else. */
[[nodiscard]] store::Request<Findings> examine(ClusterPtr cluster, std::chrono::milliseconds ttl, Deadline not_after);

} // namespace tenure::etcd
