// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster.hpp"

#include "runtime/names.hpp"
#include "store/redis/link/stream.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_cluster.hpp>

#include <memory>

namespace tenure::redis
{

/** Makes a backend for a Redis Cluster. It connects at the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_cluster_backend(std::shared_ptr<Runtime> runtime, RedisClusterConfig const& config, StreamFactory streams);

/** Makes a backend over given connections. */
[[nodiscard]] std::shared_ptr<Backend> make_cluster_backend(std::shared_ptr<Runtime> runtime, ClusterAccess access);

} // namespace tenure::redis
