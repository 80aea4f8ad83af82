// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that move to another lease.
#pragma once

#include "runtime/names.hpp"
#include "store/etcd/cluster_context.hpp"
#include "store/etcd/http/messages.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure::etcd
{

/** Records the lease of the key in a read: its known lease or a successor. False for any other lease, or if another
 *  program wrote the key: then the holder has lost it. */
[[nodiscard]] bool recognize(ClusterContext& cluster, HeldKey& held, KeyValue const& seen);

/** The instant until which a renewal is valid that was written at `renewed`. While the key may still move to another
 *  lease, limited by that lease, minus the key's quarantine. */
[[nodiscard]] Instant good_until(Claim const& claim, Instant renewed, std::chrono::milliseconds ttl);

/** Renews a claim by moving its key to a new lease.
 *  @param awaited  a holder waits for it, and relies on the new lease */
[[nodiscard]] store::Request<RenewReply> move_to_new_lease(ClusterPtr cluster, RenewRequest request, bool awaited);

/** True once per quarter of the ttl, so that failed moves are not repeated sooner. */
[[nodiscard]] bool may_move(ClusterContext const& cluster, RenewRequest const& request);

/** Makes the failure of a renewal with unknown effect, with the cause. */
[[nodiscard]] Failure doubt(ClusterContext const& cluster, std::string const& key, char const* why);

/** Moves the key to a new lease if its own was granted before the election of this term's leader. An old leader that
 *  was paused and resumes may end leases, because it does not know the renewals at its successor. It cannot know a
 *  lease that the successor granted (docs/integrators/etcd-protocol.md). Nothing waits for the move: after a failure a
 *  later renewal tries again. */
void leave_lease_of_earlier_term(ClusterPtr const& cluster, RenewRequest const& renewed, std::uint64_t raft_term);

} // namespace tenure::etcd
