// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Configs of all kinds of Redis stores (one server, Sentinel, Cluster, Redlock): parsing of URLs, checks and names.
#pragma once

#include <config/url.hpp>

#include <tenure/stores/redis.hpp>
#include <tenure/stores/redis_cluster.hpp>
#include <tenure/stores/redis_sentinel.hpp>
#include <tenure/stores/redlock.hpp>

#include <string>

namespace tenure::redis
{

/** Makes unchecked configs from URLs. A `redis+unix://` URL also gives a RedisConfig.
 *  @throws std::invalid_argument naming part, value and rule; never a password */
[[nodiscard]] RedisConfig config_from(Url const& url);
[[nodiscard]] RedisSentinelConfig sentinel_config_from(Url const& url);
[[nodiscard]] RedisClusterConfig cluster_config_from(Url const& url);
[[nodiscard]] RedlockConfig redlock_config_from(Url const& url);

/** Checks every rule that needs no server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(RedisConfig const& config);
void check_config(RedisSentinelConfig const& config);
void check_config(RedisClusterConfig const& config);
void check_config(RedlockConfig const& config);

/** Text of the config for logs and errors, without secrets: `redis://host:6379/0`,
 *  `redis+sentinel://host:26379,host:26379/name/0`, `redis+cluster://host:6379,host:6380`. */
[[nodiscard]] std::string describe(RedisConfig const& config);
[[nodiscard]] std::string describe(RedisSentinelConfig const& config);
[[nodiscard]] std::string describe(RedisClusterConfig const& config);

/** The common settings of the servers behind the sentinels, or of the nodes of the cluster: all but the address. */
[[nodiscard]] RedisConfig server_config(RedisSentinelConfig const& config);
[[nodiscard]] RedisConfig server_config(RedisClusterConfig const& config);
/** The common settings of the sentinels. */
[[nodiscard]] RedisConfig sentinel_login(RedisSentinelConfig const& config);

} // namespace tenure::redis
