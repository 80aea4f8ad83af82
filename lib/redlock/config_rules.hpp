// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/stores/redlock_config.hpp>

namespace tenure::redlock
{

/** Why RedisConfig::delay_after_failover is refused. */
inline constexpr char const* no_delay_after_failover =
    "redlock does not offer it; a server that lost its data stays stopped for the longest ttl in use instead";

/** @throws std::invalid_argument naming field, value and rule; never a password */
void check_config(RedlockConfig const& config);

} // namespace tenure::redlock
