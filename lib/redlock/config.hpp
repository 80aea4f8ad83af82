// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <config/url.hpp>

#include <tenure/stores/redlock_config.hpp>

namespace tenure
{

/** The servers that `redlock://` and `redlocks://` (over TLS) name; user, password, database and options are those of
 * `redis://`, and the same for all of them.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] RedlockConfig redlock_config_from(Url const& url);

namespace redlock
{

/** Why RedisConfig::delay_after_failover is refused. */
inline constexpr char const* no_delay_after_failover =
    "redlock does not offer it; a server that lost its data stays stopped for the longest ttl in use instead";

/** @throws std::invalid_argument naming field, value and rule; never a password */
void check_config(RedlockConfig const& config);

} // namespace redlock

} // namespace tenure
