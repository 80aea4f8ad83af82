// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace tenure
{

/** Transport security of a connection. Peer and host name are verified on every connect unless switched off. A build of
 * the library without TLS (`TENURE_HAS_TLS`) refuses a config that enables it. */
struct TlsConfig {
    /// true: all traffic is encrypted, and nothing is sent before the certificate was found good
    bool enabled = false;
    /// PEM file with the certificates to trust; empty: the system's
    std::string ca_file = {};
    /// PEM files of this client for mutual TLS; both or none
    std::string certificate_file = {};
    /// PEM file of the private key
    std::string key_file = {};
    /// the name that the certificate must contain and that is sent as SNI; empty: the host
    std::string server_name = {};
    /// false accepts any certificate: for tests only
    bool verify = true;
};

} // namespace tenure
