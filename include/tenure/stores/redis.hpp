// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/credentials.hpp>
#include <tenure/stores/lock_layout.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure
{

/** How many replicas must have a claim or renewal before it counts.
 *
 *  Replication of Redis and Valkey is asynchronous: by default a failover loses acknowledged writes that the master had
 *  not replicated. With this option claims and renewals use a separate connection, each followed by `WAIT`. A claim
 *  that too few replicas acknowledge is given back and retried; if that persists, the acquisition ends with
 *  `errc::not_replicated`. Such a renewal extends nothing.
 *
 *  Only the number of all replicas is a guarantee, and it must include every replica that can be promoted: a replica
 *  that was unavailable at that moment and is promoted later does not have the lease. With that number nothing is
 *  granted while a replica is unavailable. A smaller number makes a loss unlikely, because the sentinels prefer the
 *  replica with the most data.
 */
struct ReplicaAcknowledgement {
    /// 0: do not wait for replicas; at most 64
    std::uint32_t acknowledged_by = 0;
    /// how long each claim and renewal waits for the replicas, as part of its ttl; milliseconds, 1 to 10,000, and well
    /// below the ttls in use
    std::chrono::milliseconds acknowledged_within{50};
};

/** One Redis or Valkey server. */
struct RedisConfig {
    /// host name or address; ignored if `socket_path` is set
    std::string host = "127.0.0.1";
    /// 1..65535
    std::uint16_t port = 6379;
    /// path of a Unix socket; empty: TCP
    std::string socket_path = {};
    /// empty: the default user
    std::string username = {};
    /// empty: no authentication
    std::string password = {};
    /// called at each login instead of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    /// 0 and up
    std::uint32_t database = 0;
    /// off by default
    TlsConfig tls = {};
    /// limit of resolve, connect, TLS and login together; 100 ms to 1 h
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; 10 ms to 1 h; the pauses grow with jitter from 100 ms
    std::chrono::milliseconds reconnect_backoff{2000};
    /// off by default; not available for servers of a RedlockConfig, which need no replicas
    ReplicaAcknowledgement replicas = {};
    /// after a failover or restart of the server no claim is granted for the longest ttl in use, so that leases that
    /// the server lost have certainly ended by then; renewals and releases continue. The first use of a new database
    /// also waits for one ttl. Not available for servers of a RedlockConfig. Use the same value in all programs that
    /// share keys. See docs/users/redis-failover.md
    bool delay_after_failover = false;
    /// how named keys are kept; `LockLayout::redisson` shares them with Redisson's clients, and is refused with
    /// `delay_after_failover`, and for servers of a RedlockConfig
    LockLayout lock_layout = LockLayout::tenure;
};

/** One Redis (6 or newer) or Valkey server. Returns at once; connects when first needed.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, RedisConfig config, StoreOptions options);

} // namespace tenure
