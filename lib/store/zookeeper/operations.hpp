// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The operations on an ensemble: claim, renew, release, withdraw, inspect, evict, examine.
#pragma once

#include "runtime/names.hpp"
#include "store/zookeeper/session/ensemble.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <chrono>
#include <memory>

namespace tenure::zookeeper
{

/** As `make_backend`, over links of the caller's: for tests. */
[[nodiscard]] std::shared_ptr<Backend>
make_backend_over(MakeLink make_link, std::shared_ptr<Runtime> runtime, ZookeeperConfig const& config);

/** Creates the node of a lock, or of the first free key of a pool. */
void claim(EnsemblePtr ensemble, ClaimRequest request, ReplyHandler<ClaimReply> handler);

/** Reads the claim's node after the session's next regular write: the write proves the session, and the node its
 *  owner. */
void renew(EnsemblePtr const& ensemble, RenewRequest request, ReplyHandler<RenewReply> handler);

/** Removes the claim's node if it is the created one and still has the owner. */
void release(EnsemblePtr const& ensemble, ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

/** Removes one node of this process, unless another client owns it by now. */
[[nodiscard]] store::Request<ReleaseReply> remove_in_steps(EnsemblePtr ensemble, OwnedNodePtr node, Instant not_after);

/** Removes all nodes that this process may have created for the owner. */
[[nodiscard]] store::Request<WithdrawReply> withdraw(EnsemblePtr ensemble, WithdrawRequest request);

/** Reads the children of the range's parent, and their contents. */
[[nodiscard]] store::Request<InspectReply> inspect(EnsemblePtr ensemble, InspectRequest request);

/** Reads the nodes below the chroot, and their children. */
[[nodiscard]] store::Request<ListReply> list(EnsemblePtr ensemble, ListRequest request);

/** Replaces the owner in the node, which keeps its session. */
[[nodiscard]] store::Request<EvictReply> evict(EnsemblePtr ensemble, EvictRequest request);

/** Measures the ensemble, and judges it for leases of this ttl. */
[[nodiscard]] store::Request<Findings> examine(EnsemblePtr ensemble, std::chrono::milliseconds ttl, Deadline not_after);

} // namespace tenure::zookeeper
