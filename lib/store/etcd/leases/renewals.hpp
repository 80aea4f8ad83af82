// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "keep_alives.hpp"
#include "proofs.hpp"
#include "runtime/names.hpp"
#include "store/etcd/cluster_context.hpp"
#include "store/etcd/http/messages.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace tenure::etcd
{

/** Renewals: keep-alives of leases, and reads that prove them. A member may answer a keep-alive although another
 *  leader was elected, which lets the lease expire earlier; and the answer says nothing about the key. So a read that
 *  a majority confirms must show the key unchanged, and the term of the leader. Everything runs on the strand. */
class Renewals
{
public:
    explicit Renewals(ClusterPtr cluster)
        : cluster_(std::move(cluster))
        , keep_alives_(std::make_shared<KeepAlives>(cluster_->client))
        , proofs_(std::make_shared<Proofs>(cluster_))
    {
    }

    void add(RenewRequest request, ReplyHandler<RenewReply> handler);

private:
    static store::Request<RenewReply> renew(
        ClusterPtr cluster, std::shared_ptr<KeepAlives> keep_alives, std::shared_ptr<Proofs> proofs,
        RenewRequest request);

    ClusterPtr cluster_;
    std::shared_ptr<KeepAlives> keep_alives_;
    std::shared_ptr<Proofs> proofs_;
};

// -- keys that move to another lease (rebind.cpp) --

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
