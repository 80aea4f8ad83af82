// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/credentials.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/lock_layout.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace tenure
{

/** A Redis Cluster (Redis 6 or newer, or Valkey). */
struct RedisClusterConfig {
    /// nodes to connect to first, 1 to 64 (usually port 6379; with TLS the TLS port), masters or replicas. The cluster
    /// reports the other nodes, which use the same user, password and TLS options. Name several: one of them must be
    /// available at the start
    std::vector<Endpoint> seeds = {};
    /// empty: the default user
    std::string username = {};
    /// empty: no authentication
    std::string password = {};
    /// called at each login instead of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    /// an empty `server_name` means the host name that the cluster reports for a node, which its certificate must
    /// contain: set `cluster-announce-hostname` and `cluster-preferred-endpoint-type hostname` there, or put addresses
    /// into the certificates
    TlsConfig tls = {};
    /// limit per node of resolve, connect, TLS and login together; 100 ms to 1 h
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause per node between two attempts to connect; 10 ms to 1 h
    std::chrono::milliseconds reconnect_backoff{2000};
    /// where to reach the nodes that the cluster announces; null: at the announced address
    AddressMap address_map = {};
    /// after a failover or restart of a node no key of a hash slot is granted for the longest ttl in use there, so that
    /// leases that the node lost have certainly ended by then; renewals and releases continue. The delay of a hash slot
    /// begins with the first claim in it. The first use of a hash slot, and of a moved one, also waits for one ttl. Use
    /// the same value in all programs that share keys. See docs/users/redis-failover.md
    bool delay_after_failover = false;
    /// how named keys are kept; `LockLayout::redisson` shares them with Redisson's clients, and is refused with
    /// `delay_after_failover`
    LockLayout lock_layout = LockLayout::tenure;
};

/** A Redis Cluster. Returns at once; connects to each master on first use.
 *
 *  A lock lives on the master of its hash slot. A pool whose prefix has a hash tag (`{ids}:worker:`) lives on one
 *  master, and a claim costs one round trip. A pool without a hash tag is spread over all masters: a claim reads all
 *  keys and then tries single keys.
 *
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, RedisClusterConfig config, StoreOptions options);

} // namespace tenure
