// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/redis_cluster_config.hpp>
#include <tenure/redis_config.hpp>

namespace tenure::redis
{

/** Checks what can be checked without a server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(RedisConfig const& config);
void check_config(RedisClusterConfig const& config);

} // namespace tenure::redis
