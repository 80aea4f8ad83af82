// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/credentials.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tenure
{

/** One etcd, 3.4 or newer, or a cluster of them. */
struct EtcdConfig {
    /// members of one cluster, 1 to 64, with their client ports (usually 2379). One is used at a time, the next one
    /// after a failure or time-out
    std::vector<Endpoint> endpoints = {};
    /// empty: no authentication
    std::string username = {};
    /// with a username, and only then; never logged
    std::string password = {};
    /// called at each login instead of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    /// off by default
    TlsConfig tls = {};
    /// how many requests may be pending at the same time, each on its own connection; 1 to 256. Connections are opened
    /// on demand
    std::uint32_t connections = 32;
    /// limit of resolve, connect and TLS together; 100 ms to 1 h
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; 10 ms to 1 h; the pauses grow with jitter from 100 ms
    std::chrono::milliseconds reconnect_backoff{2000};
};

/** etcd, 3.4 or newer. Returns at once; connects when first needed.
 *
 *  Leases take a ttl of at least 2 s; the server rounds a ttl up to whole seconds, while the holder counts the
 *  requested ttl. The fencing token of a grant is the `create_revision` of its key: with the key it makes the clause by
 *  which your own transaction proves that the lease is still held (see docs/integrators/etcd-protocol.md).
 *  @throws std::invalid_argument naming field, value and rule, or saying that this build of the library is without
 * etcd */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, EtcdConfig config, StoreOptions options);

} // namespace tenure
