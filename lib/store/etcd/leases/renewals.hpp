// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/http/messages.hpp"
#include "store/etcd/node.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
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
    explicit Renewals(NodePtr node)
        : node_(std::move(node))
    {
    }

    void add(RenewRequest request, ReplyHandler<RenewReply> handler);

private:
    struct Pending {
        RenewRequest request;
        ReplyHandler<RenewReply> handler;
        /// of the renewal: before it was written
        Instant since{};
        std::uint64_t raft_term = 0;
        /// seconds; 0: the server knows no such lease
        std::int64_t ttl = 0;
        /// which the renewal was for
        LeasePtr lease;
    };
    using Batch = std::vector<Pending>;

    void kept_alive(Pending pending, Outcome outcome);
    void verify_soon(Pending pending);
    void verify(Batch batch);
    void verified(Batch batch, Outcome outcome);
    void judge(Pending pending, RangeReply const& read, Header const& header);

    NodePtr node_;
    /// answered in this turn, to be verified at its end; owned by the task that does it
    std::weak_ptr<Batch> to_verify_;
};

// -- keys that move to another lease (rebind.cpp) --

/** Takes note of the lease that the key was seen to bear, which is its own or a successor. False if it is neither, or
 * somebody else wrote the key: then it is not the holder's any more. */
[[nodiscard]] bool recognize(Node& node, Holding& holding, KeyValue const& seen);

/** Up to when a renewal that was written at that instant is good: while the key may yet move to another lease, not for
 * longer than that one lasts, less the key's quarantine. */
[[nodiscard]] Instant good_until(Claim const& claim, Instant renewed, std::chrono::milliseconds ttl);

/** Renews a claim by moving its key to a new lease: one that has another ttl, since a server's lease keeps its own for
 * good. */
void renew_with_new_lease(NodePtr const& node, RenewRequest request, ReplyHandler<RenewReply> handler);

/** The same for a renewal that counts for less than it should since an earlier move is open, which this one makes void.
 * If it comes to nothing, the renewal is worth what it is without. */
void settle(NodePtr const& node, RenewRequest request, RenewReply without, ReplyHandler<RenewReply> handler);

/** Moves the key to a new lease if its own was granted before the leader of this term was elected. Old servers end
 * leases for a leader that stood still, goes on, and does not know of the renewals at its successor; of a lease that
 * the successor granted it cannot know (docs/etcd-protocol.md). Nobody waits for it: if it fails, a later renewal tries
 * again. */
void leave_lease_of_earlier_term(NodePtr const& node, RenewRequest const& renewed, std::uint64_t raft_term);

} // namespace tenure::etcd
