// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/stores/credentials.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/redis_config.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace tenure
{

/** A Redis Cluster (Redis 6 or newer, or Valkey). */
struct RedisClusterConfig {
    /// nodes to ask first, 1 to 64 of them (usually port 6379; with TLS the TLS port); any node will do, a replica too.
    /// The cluster tells the others, and those that it tells are used with the same user, password and TLS options.
    /// Give several: one of them must be up at the start
    std::vector<Endpoint> seeds = {};
    /// empty: the default user
    std::string username = {};
    /// empty: no authentication
    std::string password = {};
    /// asked at each login in place of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    /// an empty `server_name` means the host by which the cluster names a node, which its certificate must bear: set
    /// `cluster-announce-hostname` and `cluster-preferred-endpoint-type hostname` there, or put addresses into the
    /// certificates
    TlsConfig tls = {};
    /// of each node: limit of resolve, connect, TLS and login together; milliseconds, 100 and up
    std::chrono::milliseconds connect_timeout{2000};
    /// of each node: longest pause between two attempts to connect; milliseconds, 10 and up
    std::chrono::milliseconds reconnect_backoff{2000};
    /// where to reach the nodes that the cluster announces; null: at the announced address
    AddressMap address_map = {};
    /// after a failover or restart of a node no key of a hash slot is granted for the longest ttl in use there, so that
    /// leases that the node has forgotten have surely ended by then; renewals and releases go on. The closure of a slot
    /// begins with the first claim in it, and the first use of a slot waits for one ttl too, as does a slot that has
    /// moved. To be the same in all programs that share keys. See docs/guarantees.md
    bool delay_after_failover = false;
};

} // namespace tenure
