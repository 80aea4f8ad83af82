// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/hedged_link.hpp"
#include "store/redis/link/stream.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_config.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace tenure::redis
{

/** Proposes the fencing token that several servers shall agree on for a key that the owner holds. */
struct TokenRequest {
    KeyRangePtr range;
    std::uint32_t index = 0;
    std::string owner;
    std::uint64_t token = 0;
    Instant not_after{};
};
/** From now on the server accepts and grants only greater ones. */
struct TokenAccepted {
};
/** The server has granted or accepted `last` before, which is not less. */
struct TokenTooLow {
    std::uint64_t last = 0;
};
/** `NotOwner`: the key does not bear the owner, and nothing was accepted. */
using TokenReply = std::variant<TokenAccepted, TokenTooLow, NotOwner, Failure>;

/** One of several servers that hold claims together. */
class VoterBackend : public Backend
{
public:
    /** Claims a range of one key that several servers shall grant together. With fencing, the token of the grant is
     * none yet: it is the greatest number that the server knows of for the key, its clock in microseconds included, and
     * what is proposed must be greater. Else as `claim`. */
    virtual void claim_vote(ClaimRequest request, ReplyHandler<ClaimReply> handler) = 0;

    /** As `ready`, where the user needs no counter of fencing tokens. */
    virtual void ready_to_vote(Deadline not_after, ReplyHandler<ReadyReply> handler)
    {
        ready(not_after, std::move(handler));
    }

    /** As `inspect`, and tells the last token that several servers have granted together for each key. */
    virtual void inspect_with_tokens(KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
    {
        inspect(std::move(range), not_after, std::move(handler));
    }

    /** Accepts the token if, and only if, the key bears the owner and the token is greater than all that the server
     * knows of for the key; in one step. */
    virtual void accept_token(TokenRequest request, ReplyHandler<TokenReply> handler) = 0;
};

/** Leases on one Redis or Valkey server. Nothing is connected before the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<VoterBackend>
make_backend(std::shared_ptr<Runtime> runtime, RedisConfig const& config, StreamFactory streams);
/** The same on the master that sentinels name. */
[[nodiscard]] std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedisSentinelConfig const& config, StreamFactory streams);

struct BackendSettings {
    /// of the server, without secrets
    std::string name;
    ReplicaAcknowledgement replicas = {};
    /// see RedisConfig
    bool delay_after_failover = false;
    /// for `examine`, which looks at the server's replicas too; may be empty
    ConnectTo connect_to = {};
    /// called once when all connections of the backend are closed; may be empty, must not throw
    std::function<void()> closed = {};
};

/** The same over given connections. */
[[nodiscard]] std::shared_ptr<VoterBackend>
make_backend(std::shared_ptr<Runtime> runtime, ConnectionFactory connect, BackendSettings settings);

} // namespace tenure::redis
