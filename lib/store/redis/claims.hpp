// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "claim.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace tenure::redis
{

/** Claims on one server.
 *
 * Those that are asked for in one turn of the loop share calls: single keys with fencing a transaction, keys of one
 * pool a script call. A claim that comes alone leaves at once while no such call is under way, because waiting for
 * company would cost it another turn; whether it comes alone, the turn before tells. */
class Claims : public std::enable_shared_from_this<Claims>
{
public:
    explicit Claims(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(ClaimRequest request, ReplyHandler<ClaimReply> handler);

private:
    /** Of one turn, or of two. */
    struct Gathered {
        /// those of one group may share a call
        std::vector<PendingClaims> groups;
        /// for a second turn, because a call was under way
        bool has_waited = false;
    };

    void gather(Gathered& gathered, PendingClaim pending);
    void flush_soon(std::shared_ptr<Gathered> gathered);
    void flush(Gathered& gathered);
    /// false: each of them goes alone
    [[nodiscard]] bool may_join(PendingClaims const& claims) const;
    void send_alone(PendingClaim pending);
    void send(PendingClaims claims);

    ServerPtr server_;
    /// of this turn; owned by the task that sends it, for what is asked may own this, and a context that is destroyed
    /// runs no task
    std::weak_ptr<Gathered> gathered_;
    /// calls that are not answered yet
    std::size_t under_way_ = 0;
    /// several claims left together the last time
    bool has_company_ = false;
};

} // namespace tenure::redis
