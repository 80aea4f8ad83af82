// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/stores/redis_config.hpp>

#include <vector>

namespace tenure
{

/** Independent Redis or Valkey servers, of which a majority grants. They must not replicate each other, and should run
 * on separate machines. */
struct RedlockConfig {
    /// an odd number, 3 and up, all different; the same list in every program that shares the keys
    std::vector<RedisConfig> servers = {};
};

} // namespace tenure
