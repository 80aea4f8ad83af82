// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Rules for fields that configs of several kinds of stores share. `prefix` precedes the names of fields:
// "RedisConfig::". All throw std::invalid_argument naming field, value and rule; never a password.
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

/** @throws std::invalid_argument always; `field` includes its prefix */
[[noreturn]] void refuse_config(std::string const& field, std::string const& value, std::string const& rule);

/** @param field  including its prefix */
void check_duration(
    std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest,
    std::chrono::milliseconds longest);

void check_address(std::string const& prefix, std::string const& host, std::uint16_t port);
/** Checks that there are 1 to 64 valid addresses. */
void check_endpoints(std::string const& prefix, std::string const& field, std::vector<Endpoint> const& endpoints);

void check_login(
    std::string const& prefix, std::string const& username, std::string const& password,
    CredentialsSource const& credentials = nullptr);
void check_tls(std::string const& prefix, TlsConfig const& tls);

/** Checks login, TLS and timeouts of any config that has these fields. */
template <class Config>
void check_connection(std::string const& prefix, Config const& config)
{
    using namespace std::chrono_literals;
    check_login(prefix, config.username, config.password, config.credentials);
    check_tls(prefix, config.tls);
    check_duration(prefix + "connect_timeout", config.connect_timeout, 100ms, 1h);
    check_duration(prefix + "reconnect_backoff", config.reconnect_backoff, 10ms, 1h);
}

} // namespace tenure
