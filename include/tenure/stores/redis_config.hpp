// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/stores/credentials.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure
{

/** How many replicas must have a claim or renewal before it counts.
 *
 *  Replication of Redis and Valkey is asynchronous: without this, a failover loses what the master had acknowledged and
 *  not passed on. With it claims and renewals go over a connection of their own, each followed there by `WAIT`. A claim
 *  that too few replicas acknowledge is given back and tried again, and the acquisition ends with
 *  `errc::not_replicated` if that does not change; such a renewal extends nothing.
 *
 *  Only a number equal to that of all replicas is a guarantee, and only for those that can be promoted: a replica that
 *  was away at that moment and is promoted later knows nothing of the lease. Nothing is granted then while one of them
 *  is away. A smaller number makes a loss unlikely, because the sentinels prefer the replica that has most.
 */
struct ReplicaAcknowledgement {
    /// 0: replicas are not waited for; at most 64
    std::uint32_t acknowledged_by = 0;
    /// how long each claim and renewal waits for them, which counts against its ttl; milliseconds, 1 to 10,000, and
    /// well below the ttls in use
    std::chrono::milliseconds acknowledged_within{50};
};

/** One Redis or Valkey server. */
struct RedisConfig {
    /// host name or address; ignored where `socket_path` is set
    std::string host = "127.0.0.1";
    /// 1..65535
    std::uint16_t port = 6379;
    /// path of a Unix socket; empty: TCP
    std::string socket_path = {};
    /// empty: the default user
    std::string username = {};
    /// empty: no authentication
    std::string password = {};
    /// asked at each login in place of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    /// 0 and up
    std::uint32_t database = 0;
    TlsConfig tls = {};
    /// limit of resolve, connect, TLS and login together; milliseconds, 100 and up
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; milliseconds, 10 and up; the pauses grow with jitter from a tenth
    /// of a second
    std::chrono::milliseconds reconnect_backoff{2000};
    /// off unless asked for; not offered to servers of a RedlockConfig, which need no replicas
    ReplicaAcknowledgement replicas = {};
    /// after a failover or restart of the server no claim is granted for the longest ttl in use, so that leases that
    /// the server has forgotten have surely ended by then; renewals and releases go on. The first use of a new database
    /// waits for one ttl too. Not offered to servers
    /// of a RedlockConfig. To be the same in all programs that share keys. See docs/guarantees.md
    bool delay_after_failover = false;
};

} // namespace tenure
