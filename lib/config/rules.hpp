// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the configs of stores behind a connection have in common. `prefix` stands before the names of fields:
// "RedisConfig::". All throw std::invalid_argument naming field, value and rule; never a password.
#pragma once

#include <tenure/stores/credentials.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure
{

void check_address(std::string const& prefix, std::string const& host, std::uint16_t port);
void check_login(
    std::string const& prefix, std::string const& username, std::string const& password,
    CredentialsSource const& credentials = nullptr);
void check_tls(std::string const& prefix, TlsConfig const& tls);
void check_limits(
    std::string const& prefix, std::chrono::milliseconds connect_timeout, std::chrono::milliseconds reconnect_backoff);

/** @throws std::invalid_argument always; `field` with its prefix */
[[noreturn]] void refuse_config(std::string const& field, std::string const& value, std::string const& rule);

} // namespace tenure
