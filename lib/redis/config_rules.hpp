// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/redis_cluster_config.hpp>
#include <tenure/redis_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure::redis
{

/** Checks what can be checked without a server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(RedisConfig const& config);
void check_config(RedisClusterConfig const& config);

// What configs of other Redis stores have in common with it. `prefix` stands before the names of fields:
// "RedisConfig::".

void check_address(std::string const& prefix, std::string const& host, std::uint16_t port);
void check_login(std::string const& prefix, std::string const& username, std::string const& password);
void check_tls(std::string const& prefix, TlsConfig const& tls);
void check_limits(
    std::string const& prefix, std::chrono::milliseconds connect_timeout, std::chrono::milliseconds reconnect_backoff);

void check_replicas(std::string const& prefix, ReplicaAcknowledgement const& replicas);

/** @throws std::invalid_argument always; `field` with its prefix */
[[noreturn]] void refuse_config(std::string const& field, std::string const& value, std::string const& rule);

} // namespace tenure::redis
