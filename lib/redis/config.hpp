// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <config/url.hpp>

#include <tenure/stores/redis_cluster_config.hpp>
#include <tenure/stores/redis_config.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>

#include <string>

namespace tenure
{

/** The one server that `redis://`, `rediss://` and `redis+unix://` name. Options: connect_timeout, reconnect_backoff
 * (`500ms`, `2s`), with `rediss` tls_ca, tls_cert, tls_key, tls_server_name, tls_verify (`true`, `false`), with
 * `redis+unix` db.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] RedisConfig redis_config_from(Url const& url);

/** The sentinels and the master that `redis+sentinel://` and `rediss+sentinel://` name. Options: connect_timeout,
 * reconnect_backoff, sentinel_user, sentinel_password, sentinel_tls (`true`, `false`), and with TLS tls_... and
 * sentinel_tls_... as above; TLS of the sentinels is that of the servers where nothing else is said.
 *  @throws std::invalid_argument naming field, value and rule; never a password */
[[nodiscard]] RedisSentinelConfig redis_sentinel_config_from(Url const& url);

/** The cluster that `redis+cluster://` and `rediss+cluster://` name. Options as above, without db.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] RedisClusterConfig redis_cluster_config_from(Url const& url);

namespace redis
{

/** Checks what can be checked without a server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(RedisConfig const& config);
void check_config(RedisSentinelConfig const& config);
void check_config(RedisClusterConfig const& config);

/** Where the config points, for logs and errors, without secrets: `redis://host:6379/0`,
 * `redis+sentinel://host:26379,host:26379/name/0`, `redis+cluster://host:6379,host:6380`. */
[[nodiscard]] std::string describe(RedisConfig const& config);
[[nodiscard]] std::string describe(RedisSentinelConfig const& config);
[[nodiscard]] std::string describe(RedisClusterConfig const& config);

} // namespace redis

} // namespace tenure
