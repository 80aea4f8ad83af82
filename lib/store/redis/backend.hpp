// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node_backend.hpp"
#include "store/redis/link/route.hpp"
#include "store/redis/link/stream.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_config.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tenure::redis
{

/** Leases on one Redis or Valkey server. Nothing is connected before the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<NodeBackend>
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
[[nodiscard]] std::shared_ptr<NodeBackend>
make_backend(std::shared_ptr<Runtime> runtime, ConnectionFactory connect, BackendSettings settings);

} // namespace tenure::redis
