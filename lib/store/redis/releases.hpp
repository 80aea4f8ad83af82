// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "server_context.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tenure::redis
{

/** Releases on one server.
 *
 * Those that are asked for in one turn of the loop share script calls of up to 100 keys. A release that comes alone
 * leaves at once while none is under way, because waiting for company would cost it another turn; the turn before
 * tells whether it comes alone. A release that wakes no waiter is one command where the server can compare and delete
 * by itself. */
class Releases : public std::enable_shared_from_this<Releases>
{
public:
    explicit Releases(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

private:
    struct Pending {
        ReleaseRequest request;
        ReplyHandler<ReleaseReply> handler;
    };
    using Batch = std::vector<Pending>;

    void flush(Batch all);
    void send(Batch batch);
    void send_single(Pending pending);
    [[nodiscard]] bool does_natively(ReleaseRequest const& request) const;
    void send_natively(Pending pending);
    /// `by_text`: the server does not know the script by its name
    void send_script(Pending pending, bool by_text);
    void send_script(Batch batch);
    void answered(std::span<Pending> batch, Outcome const& outcome);
    void answered_natively(Pending pending, Outcome const& outcome);

    ServerPtr server_;
    /// of this turn; owned by the task that sends it, for what is asked may own this, and a context that is destroyed
    /// runs no task
    std::weak_ptr<Batch> pending_;
    /// calls that are not answered yet
    std::size_t under_way_ = 0;
    /// several releases left together the last time
    bool has_company_ = false;
};

} // namespace tenure::redis
