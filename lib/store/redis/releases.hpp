// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "line_keys.hpp"
#include "runtime/names.hpp"
#include "server_context.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace tenure::redis
{

struct ReleaseFlags;

/** Releases on one server, grouped into script calls.
 *
 *  Releases of one turn of the loop share script calls of up to 32 keys. A single release is sent at once while no
 *  call is pending, because waiting for others would cost it a turn. The previous turn tells whether to expect others.
 *  A release that wakes no waiter takes one command if the server can compare and delete natively. */
class Releases : public std::enable_shared_from_this<Releases>
{
public:
    /// as for claims
    static constexpr std::size_t releases_per_call = 32;

    explicit Releases(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

private:
    struct Pending {
        ReleaseRequest request;
        ReplyHandler<ReleaseReply> handler;
        /// of calls for this release alone
        ScriptAttempt attempt = {};
        LineKeys line = {};
    };
    using Batch = std::vector<Pending>;
    struct Call;

    [[nodiscard]] std::size_t most_per_call() const;
    [[nodiscard]] bool is_redisson(ReleaseRequest const& request) const;

    void flush(Batch all);
    void send(Batch batch);
    void send_single(Pending pending);
    [[nodiscard]] bool notifies(ReleaseRequest const& request) const;
    [[nodiscard]] bool does_natively(ReleaseRequest const& request) const;
    void send_natively(Pending pending);
    void send_script(Pending pending);
    void answered(Pending pending, Outcome const& outcome, bool by_script);
    void send_script(std::shared_ptr<Call> const& call);
    void answered(std::shared_ptr<Call> const& call, Outcome const& outcome);
    void hand_out(Call& call, ReleaseFlags const& flags);
    void answered_natively(Pending pending, Outcome const& outcome);

    ServerPtr server_;
    /// releases of this turn. The task that sends them owns them, because their handlers may own this object, and a
    /// destroyed context runs no task.
    std::weak_ptr<Batch> pending_;
    /// unanswered calls
    std::size_t under_way_ = 0;
    /// the last call carried several releases
    bool has_company_ = false;
};

} // namespace tenure::redis
