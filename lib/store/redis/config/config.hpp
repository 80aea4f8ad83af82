// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <config/url_options.hpp>

#include <tenure/stores/redis_cluster_config.hpp>
#include <tenure/stores/redis_config.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>

#include <cstdint>
#include <string>

namespace tenure
{

/** The configs that URLs stand for, not checked yet.
 *  @throws std::invalid_argument naming part, value and rule; never a password */
[[nodiscard]] RedisConfig redis_config_from(Url const& url);
[[nodiscard]] RedisConfig redis_socket_config_from(Url const& url);
[[nodiscard]] RedisSentinelConfig redis_sentinel_config_from(Url const& url);
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

/** The database that the path of a URL names; 0 if there is none. */
[[nodiscard]] std::uint32_t database_from(std::string const& path);
/** Refuses `db`, because the path names the database. */
[[nodiscard]] UrlOptions no_database_option(Url const& url);

} // namespace redis

} // namespace tenure
