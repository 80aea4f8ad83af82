// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

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
    /// members of one cluster, 1 to 64, by the ports for clients (usually 2379): one is used at a time, the next one
    /// where that fails or falls silent
    std::vector<Endpoint> endpoints = {};
    /// empty: no authentication
    std::string username = {};
    std::string password = {};
    /// asked at each login in place of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    TlsConfig tls = {};
    /// how many requests may be under way at the same time, each on a connection of its own; 1 to 256. Connections
    /// are made as they are needed
    std::uint32_t connections = 32;
    /// limit of resolve, connect and TLS together; milliseconds, 100 and up
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; milliseconds, 10 and up; the pauses grow with jitter from a tenth
    /// of a second
    std::chrono::milliseconds reconnect_backoff{2000};
};

} // namespace tenure
