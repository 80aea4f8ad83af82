// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/stores/credentials.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/redis_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tenure
{

/** The master of a group of Redis or Valkey servers that sentinels watch over. Leases live on the master; when the
 *  sentinels put another one in its place, the store follows. */
struct RedisSentinelConfig {
    /// 1 to 64 of the sentinels (usually port 26379), better all of them: others that one of these names are asked also
    /// where needed
    std::vector<Endpoint> sentinels = {};
    /// what the sentinels call the master (`sentinel monitor NAME ...`): 1 to 255 printable characters without blanks
    std::string master_name = {};

    /// of the servers; empty: the default user
    std::string username = {};
    /// of the servers; empty: no authentication
    std::string password = {};
    /// of the servers: asked at each login in place of a fixed user and password, which must then be empty; null: they
    /// are fixed
    CredentialsSource credentials = {};
    /// 0 and up
    std::uint32_t database = 0;
    /// with the servers. They are connected to by the addresses that the sentinels name: their certificates must bear
    /// those, or all the same `server_name`
    TlsConfig tls = {};

    /// of the sentinels, which have users of their own (Redis 6.2 and newer); empty: the default user
    std::string sentinel_username = {};
    /// of the sentinels, never taken from `password`; empty: no authentication
    std::string sentinel_password = {};
    /// with the sentinels, never taken from `tls`
    TlsConfig sentinel_tls = {};

    /// limit of asking the sentinels, connect, TLS and login together; milliseconds, 100 and up. Sentinels that do not
    /// answer are waited for for three quarters of it at most, and once one has answered the others for a quarter of
    /// it, half a second at most
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; milliseconds, 10 and up; the pauses grow with jitter from a tenth
    /// of a second, and news of another master ends them
    std::chrono::milliseconds reconnect_backoff{2000};
    /// of the master; off unless asked for
    ReplicaAcknowledgement replicas = {};
    /// where to reach the servers and sentinels that sentinels announce; null: at the announced address
    AddressMap address_map = {};
    /// after a failover or restart of the server no claim is granted for the longest ttl in use, so that leases that
    /// the server has forgotten have surely ended by then; renewals and releases go on. The first use of a new database
    /// waits for one ttl too. To be the same in all programs that share keys. See docs/guarantees.md
    bool delay_after_failover = false;
};

} // namespace tenure
