// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "members.hpp"

#include "store/redis/link/stream.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_cluster_config.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tenure::redis
{

/** Leases in a Redis Cluster. Nothing is connected before the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_cluster_backend(std::shared_ptr<Runtime> runtime, RedisClusterConfig const& config, StreamFactory streams);

struct ClusterAccess {
    ConnectTo connect;
    std::vector<ServerAddress> seeds;
    /// the nodes' TLS ports are the ones to use
    bool tls = false;
    /// of the cluster, without secrets
    std::string name;
    /// see RedisClusterConfig
    bool delay_after_failover = false;
};

/** The same over given connections. */
[[nodiscard]] std::shared_ptr<Backend> make_cluster_backend(std::shared_ptr<Runtime> runtime, ClusterAccess access);

} // namespace tenure::redis
