// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/redis/link/hedged_link.hpp"
#include "store/redis/link/stream.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis.hpp>
#include <tenure/stores/redis_sentinel.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace tenure::redis
{

/** The abilities of one server and of a cluster. */
[[nodiscard]] constexpr Capabilities capabilities_of_redis(LockLayout layout) noexcept
{
    // other programs may delete keys without publishing, and Redisson's clients know no line
    return {
        .keeps_line = layout == LockLayout::tenure,
        .frees_silently = true,
        .examines = true,
        .no_quarantine = nullptr,
        .no_detach = nullptr,
        .no_shares = nullptr,
        .no_list = nullptr};
}

/** A fencing token that several servers shall agree on, for a key that the owner holds. */
struct TokenRequest {
    KeyRangePtr range;
    std::uint32_t index = 0;
    std::string owner;
    std::uint64_t token = 0;
    Deadline not_after{};
};
/** The server accepted the token. From now on it accepts and grants only greater ones. */
struct TokenAccepted {
};
/** The server has already granted or accepted `last`, which is not less than the proposed token. */
struct TokenTooLow {
    std::uint64_t last = 0;
};
/** `NotOwner`: the key has another owner or none, and nothing was accepted. */
using TokenReply = std::variant<TokenAccepted, TokenTooLow, NotOwner, Failure>;

/** One of several servers that decide claims by majority. */
class VoterBackend : public Backend
{
public:
    /** Claims a range of one key for a majority. With fencing, the grant has no token yet: it carries the greatest
     *  number that the server knows for the key, including its clock in microseconds, and a proposal must be greater.
     *  Otherwise as `claim`. */
    virtual void claim_vote(ClaimRequest request, ReplyHandler<ClaimReply> handler) = 0;

    /** As `ready`, for a user without access to the counter of fencing tokens. */
    virtual void ready_to_vote(Deadline not_after, ReplyHandler<ReadyReply> handler)
    {
        ready(not_after, std::move(handler));
    }

    /** As `inspect`, with the last token that a majority has granted for each key. */
    virtual void inspect_with_tokens(InspectRequest request, ReplyHandler<InspectReply> handler)
    {
        inspect(std::move(request), std::move(handler));
    }

    /** Accepts the token in one step, if the key has the owner and the token is greater than every token known to the
     *  server for the key. */
    virtual void accept_token(TokenRequest request, ReplyHandler<TokenReply> handler) = 0;
};

/** Makes a backend for one Redis or Valkey server. It connects at the first request.
 *  @throws std::invalid_argument  naming field, value and rule */
[[nodiscard]] std::shared_ptr<VoterBackend>
make_backend(std::shared_ptr<Runtime> runtime, RedisConfig const& config, StreamFactory streams);
/** Makes a backend for the master that the sentinels name. */
[[nodiscard]] std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedisSentinelConfig const& config, StreamFactory streams);

struct BackendSettings {
    /// name of the server for logs and errors, without secrets
    std::string name;
    ReplicaAcknowledgement replicas = {};
    /// see RedisConfig
    bool delay_after_failover = false;
    /// opens connections to the replicas for `examine`; may be empty
    ConnectTo connect_to = {};
    /// see RedisConfig
    LockLayout lock_layout = LockLayout::tenure;
    /// called once, when all connections of the backend are closed; may be empty, must not throw
    std::function<void()> closed = {};
};

/** Makes a backend over given connections. */
[[nodiscard]] std::shared_ptr<VoterBackend>
make_backend(std::shared_ptr<Runtime> runtime, ConnectionFactory connect, BackendSettings settings);

} // namespace tenure::redis
