// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Options that the URLs of all stores behind a connection have.
#pragma once

#include "url.hpp"

#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <string>

namespace tenure
{

/** @throws std::invalid_argument if there is a user without a password */
void check_url_login(Url const& url);

[[nodiscard]] bool boolean_from(std::string const& field, std::string const& text);
[[nodiscard]] std::chrono::milliseconds duration_from(std::string const& field, std::string const& text);

/** tls_ca, tls_cert, tls_key, tls_server_name, tls_verify.
 *  @param name  the part after `prefix`: "tls_ca"
 *  @param prefix  for the texts: "" or "sentinel_"
 *  @throws std::invalid_argument also for another name that begins with "tls_" */
void read_tls_option(TlsConfig& tls, std::string const& name, std::string const& value, std::string const& prefix = {});

} // namespace tenure
