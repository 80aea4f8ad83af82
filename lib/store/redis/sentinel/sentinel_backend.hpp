// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/stream.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>

#include <memory>

namespace tenure::redis
{

/** Leases on the master that sentinels name. Nothing is connected before the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_sentinel_backend(std::shared_ptr<Runtime> runtime, RedisSentinelConfig const& config, StreamFactory streams);

} // namespace tenure::redis
