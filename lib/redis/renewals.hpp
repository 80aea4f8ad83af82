// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend/backend.hpp>

#include <memory>
#include <vector>

namespace tenure::redis
{

/** Renewals of one server. Those that are asked for in one turn of the loop leave together, up to 100 keys of one ttl
 * to a script call; each gets its own answer, and one that the server refuses spoils no other. */
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
    };
    using Batch = std::vector<Pending>;

    void flush(Batch all);
    void send(Batch batch);
    void send_script(Batch batch, bool by_text = false);
    /// answers, and takes out, what is over meanwhile and must not be written any more
    static void drop_ended(Batch& batch);
    void send_natively(Pending pending);
    void answered(Batch batch, Outcome outcome);
    /// extended, unless replicas that were asked for do not have it
    [[nodiscard]] RenewReply renewed(RenewRequest const& request, Outcome const& outcome) const;
    void retry_alone(Pending pending, Failure reason);

    NodePtr node_;
    /// of this turn; owned by the task that sends it, for what is asked may own this, and a context that is destroyed
    /// runs no task
    std::weak_ptr<Batch> pending_;
};

} // namespace tenure::redis
