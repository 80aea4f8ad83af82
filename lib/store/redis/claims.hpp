// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claim.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace tenure::redis
{

/** Claims on one server, grouped into calls. At most as many have begun as the server needs to be busy
 *  (HedgedLink::most_claims); the others wait for their turn.
 *
 *  Claims of one turn of the loop share calls: a transaction for single keys with fencing, a script call for keys of
 *  one pool. A single claim is sent at once while no such call is pending, because waiting for others would cost it a
 *  turn. The previous turn tells whether to expect others. */
class Claims : public std::enable_shared_from_this<Claims>
{
public:
    /// Small enough that the server works on one call while this process prepares the next: with 64 pairs in flight,
    /// calls of 32 take 1.36 times as many pairs per second as calls of 64.
    static constexpr std::size_t owners_per_call = 32;

    explicit Claims(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(ClaimRequest request, ReplyHandler<ClaimReply> handler);

private:
    /** The claims of one turn, or of two. */
    struct Gathered {
        /// claims of one group can share a call
        std::vector<PendingClaims> groups;
        /// has waited a second turn, because a call was pending
        bool has_waited = false;
    };

    void begin(PendingClaim pending);
    void gather(Gathered& gathered, PendingClaim pending);
    void flush_soon(std::shared_ptr<Gathered> gathered);
    void flush(Gathered& gathered);
    /// false: each claim is sent alone
    [[nodiscard]] bool may_join(PendingClaims const& claims) const;
    void send_alone(PendingClaim pending);
    void send(PendingClaims claims);

    ServerPtr server_;
    /// claims of this turn. The task that sends them owns them, because their handlers may own this object, and a
    /// destroyed context runs no task.
    std::weak_ptr<Gathered> gathered_;
    /// unanswered calls
    std::size_t under_way_ = 0;
    /// the last call carried several claims
    bool has_company_ = false;
};

} // namespace tenure::redis
