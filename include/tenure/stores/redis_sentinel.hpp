// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/credentials.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/lock_layout.hpp>
#include <tenure/stores/redis.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tenure
{

/** The master of a group of Redis or Valkey servers with sentinels. Leases live on the master; the store follows a
 * failover. */
struct RedisSentinelConfig {
    /// 1 to 64 of the sentinels (usually port 26379), preferably all of them; the store also uses other sentinels that
    /// these report
    std::vector<Endpoint> sentinels = {};
    /// name of the master in the sentinels' configuration (`sentinel monitor NAME ...`): 1 to 255 printable characters
    /// without blanks
    std::string master_name = {};

    /// of the servers; empty: the default user
    std::string username = {};
    /// of the servers; empty: no authentication
    std::string password = {};
    /// of the servers: called at each login instead of a fixed user and password, which must then be empty; null: they
    /// are fixed
    CredentialsSource credentials = {};
    /// 0 and up
    std::uint32_t database = 0;
    /// for the servers. The store connects to the addresses that the sentinels report: the certificates must contain
    /// these, or all the same `server_name`
    TlsConfig tls = {};

    /// of the sentinels, which have their own users (Redis 6.2 and newer); empty: the default user
    std::string sentinel_username = {};
    /// of the sentinels, never taken from `password`; empty: no authentication
    std::string sentinel_password = {};
    /// for the sentinels: a config never takes it from `tls`, but a URL does
    TlsConfig sentinel_tls = {};

    /// limit of the sentinel query, connect, TLS and login together; 100 ms to 1 h. The query waits for the
    /// first answer at most three quarters of this time. After the first answer it waits for the other sentinels a
    /// quarter of this time, at most half a second
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; 10 ms to 1 h; the pauses grow with jitter from 100 ms,
    /// and the announcement of another master ends them
    std::chrono::milliseconds reconnect_backoff{2000};
    /// of the master; off by default
    ReplicaAcknowledgement replicas = {};
    /// where to reach the servers and sentinels that sentinels announce; null: at the announced address
    AddressMap address_map = {};
    /// after a failover or restart of the server no claim is granted for the longest ttl in use, so that leases that
    /// the server lost have certainly ended by then; renewals and releases continue. The first use of a new database
    /// also waits for one ttl. Use the same value in all programs that share keys. See docs/users/redis-failover.md
    bool delay_after_failover = false;
    /// how named keys are kept; `LockLayout::redisson` shares them with Redisson's clients, and is refused with
    /// `delay_after_failover`
    LockLayout lock_layout = LockLayout::tenure;
};

/** The master that Redis or Valkey sentinels name, and its successor after a failover. Returns at once; connects when
 *  first needed.
 *
 *  A lease survives a failover only if its last write had reached the new master: replication is asynchronous. Fencing
 *  tokens increase over failovers (docs/users/redis-failover.md).
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, RedisSentinelConfig config, StoreOptions options);

} // namespace tenure
