// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests that end places or take them away (backend::Share). Claims are in claim.hpp, renewals in ../renewals.hpp.
#pragma once

#include "message.hpp"
#include "runtime/names.hpp"
#include "store/redis/server_context.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

/** Releases and withdrawals of places on one server. Those of one turn of the loop share script calls. */
class Places : public std::enable_shared_from_this<Places>
{
public:
    /// as for plain keys
    static constexpr std::size_t places_per_call = 32;

    explicit Places(ServerPtr server)
        : server_(std::move(server))
    {
    }

    /** Requires a release without `keep_for`. */
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler);
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler);

private:
    /** Whether the owner had a place. */
    using Left = std::variant<bool, Failure>;
    struct Pending {
        KeyRangePtr range;
        std::string owner;
        Instant not_after{};
        bool notifications = true;
        OneShot<void(Left&&)> handler;
    };
    using Batch = std::vector<Pending>;
    struct Call;

    void add(Pending pending);
    void flush(Batch all);
    void send(std::shared_ptr<Call> const& call);
    void answered(Call& call, Outcome const& outcome);
    void send_each_alone(Batch batch, Failure const& reason);

    ServerPtr server_;
    /// of this turn. The task that sends them owns them, because their handlers may own this object, and a destroyed
    /// context runs no task.
    std::weak_ptr<Batch> pending_;
};

/** Executes a release with `keep_for`. */
[[nodiscard]] store::Request<ReleaseReply> detach_place(ServerPtr server, ReleaseRequest request);

/** Takes a place away: it stays for the rest of its ttl if it holds, and goes at once if it waits. */
[[nodiscard]] store::Request<EvictReply> evict_place(ServerPtr server, EvictRequest request);

} // namespace tenure::redis
