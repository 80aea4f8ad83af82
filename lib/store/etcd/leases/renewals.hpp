// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/cluster_context.hpp"
#include "store/etcd/http/messages.hpp"

#include <store/coroutine.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tenure::etcd
{

/** Renewals: the lease is kept alive, and what that is worth is then proven. A member may answer a renewal although
 * another leader has been elected, which lets the lease lapse earlier; and the answer says nothing about the key. So a
 * read that a majority confirms must show the key unchanged, and the term of the leader too.
 *
 * The reads of renewals that are answered together are one request. */
class Renewals : public std::enable_shared_from_this<Renewals>
{
public:
    explicit Renewals(ClusterPtr cluster)
        : cluster_(std::move(cluster))
    {
    }

    void add(RenewRequest request, ReplyHandler<RenewReply> handler);

private:
    /** A read that is to prove a renewal. */
    struct Question {
        ClaimPtr claim;
        Instant not_after{};
        OneShot<void(std::variant<RangeReply, Failure>&&)> handler;
    };
    using Batch = std::vector<Question>;

    static store::Coroutine<RenewReply> renew(std::shared_ptr<Renewals> self, RenewRequest request);
    /** Reads the claim's key from a majority, with those of other renewals. */
    [[nodiscard]] store::Step<std::variant<RangeReply, Failure>> read_key(RenewRequest const& request);
    void verify_soon(Question question);
    [[nodiscard]] static Batch take(Batch& batch, std::size_t begin, std::size_t end);
    void verify(Batch batch);
    void verified(Batch batch, Outcome outcome);

    ClusterPtr cluster_;
    /// asked in this turn, to be sent at its end; owned by the task that does it
    std::weak_ptr<Batch> to_verify_;
};

// -- keys that move to another lease (rebind.cpp) --

/** Takes note of the lease that the key was seen to bear, which is its own or a successor. False if it is neither, or
 * another program wrote the key: then the holder has lost it. */
[[nodiscard]] bool recognize(ClusterContext& cluster, HeldKey& held, KeyValue const& seen);

/** Up to when a renewal that was written at that instant is good: while the key may yet move to another lease, not for
 * longer than that one lasts, less the key's quarantine. */
[[nodiscard]] Instant good_until(Claim const& claim, Instant renewed, std::chrono::milliseconds ttl);

/** Renews a claim by moving its key to a new lease.
 *  @param awaited  a holder waits for it, and counts on the new lease */
[[nodiscard]] store::Coroutine<RenewReply> move_to_new_lease(ClusterPtr cluster, RenewRequest request, bool awaited);

/** True once per quarter of the ttl: a move that did not succeed is not repeated sooner. */
[[nodiscard]] bool may_move(ClusterContext const& cluster, RenewRequest const& request);

/** Whether the renewal has taken effect is not known, and why. */
[[nodiscard]] Failure doubt(ClusterContext const& cluster, std::string const& key, char const* why);

/** Moves the key to a new lease if its own was granted before the leader of this term was elected. Old servers end
 * leases for a leader that stood still, goes on, and does not know of the renewals at its successor; of a lease that
 * the successor granted it cannot know (docs/integrators/etcd-protocol.md). Nobody waits for it: if it fails, a later
 * renewal tries again. */
void leave_lease_of_earlier_term(ClusterPtr const& cluster, RenewRequest const& renewed, std::uint64_t raft_term);

} // namespace tenure::etcd
