// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <net/config_rules.hpp>

#include <tenure/stores/redis_cluster_config.hpp>
#include <tenure/stores/redis_config.hpp>

#include <string>

namespace tenure::redis
{

/** Checks what can be checked without a server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(RedisConfig const& config);
void check_config(RedisClusterConfig const& config);

using net::check_address;
using net::check_limits;
using net::check_login;
using net::check_tls;
using net::refuse_config;

/** `prefix` stands before the names of fields: "RedisConfig::". */
void check_replicas(std::string const& prefix, ReplicaAcknowledgement const& replicas);

} // namespace tenure::redis
