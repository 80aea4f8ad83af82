// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The operations on an ensemble: claim, renew, release, withdraw, inspect, evict, examine.
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

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

/** Removes all nodes that this process may have created for the owner. */
void withdraw(EnsemblePtr const& ensemble, WithdrawRequest const& request, ReplyHandler<WithdrawReply> handler);

/** Reads the children of the range's parent, and their contents. */
void inspect(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler);

/** Replaces the owner in the node, which keeps its session. */
void evict(EnsemblePtr ensemble, EvictRequest request, ReplyHandler<EvictReply> handler);

/** Measures the ensemble, and judges it for leases of this ttl. */
void examine(EnsemblePtr ensemble, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler);

} // namespace tenure::zookeeper
