// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/node.hpp"

#include <tenure/backend/backend.hpp>

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

} // namespace tenure::etcd
