// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Options that the URLs of all Redis stores have.
#pragma once

#include "url.hpp"

#include <tenure/redis_config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** @throws std::invalid_argument always: field, value and rule */
[[noreturn]] void refuse_url(std::string const& field, std::string const& value, std::string const& rule);

/** @throws std::invalid_argument if there is a user without a password */
void check_url_login(Url const& url);

[[nodiscard]] std::uint32_t database_from(std::string const& field, std::string const& text);
[[nodiscard]] bool boolean_from(std::string const& field, std::string const& text);
[[nodiscard]] std::chrono::milliseconds duration_from(std::string const& field, std::string const& text);

/** What the URL's options `replicas` and `replicas_within` ask for.
 *  @throws std::invalid_argument also for the second without the first */
[[nodiscard]] ReplicaAcknowledgement replicas_from(Url const& url);

/** True for the names that `replicas_from` reads. */
[[nodiscard]] bool is_replica_option(std::string_view name) noexcept;

/** @throws std::invalid_argument if the URL has such options, which its kind of store does not offer */
void refuse_replica_options(Url const& url, std::string const& reason);

[[nodiscard]] inline bool is_precaution_option(std::string_view name) noexcept
{
    return name == "delay_after_failover" || name == "cool_down";
}

/** Reads `delay_after_failover` and `cool_down`; false: it is another option.
 *  @throws std::invalid_argument for another value than true or false */
template <class Config>
[[nodiscard]] bool read_precaution(Config& config, std::string const& name, std::string const& value)
{
    if (!is_precaution_option(name))
        return false;
    (name == "cool_down" ? config.cool_down : config.delay_after_failover) = boolean_from("option " + name, value);
    return true;
}

/** tls_ca, tls_cert, tls_key, tls_server_name, tls_verify.
 *  @param name  the part after `prefix`: "tls_ca"
 *  @param prefix  for the texts: "" or "sentinel_"
 *  @throws std::invalid_argument also for another name that begins with "tls_" */
void read_tls_option(TlsConfig& tls, std::string const& name, std::string const& value, std::string const& prefix = {});

} // namespace tenure::redis
