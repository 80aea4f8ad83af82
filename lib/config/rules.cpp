// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "rules.hpp"

#include <tenure/features.hpp>

#include <stdexcept>

namespace tenure
{

namespace
{

using namespace std::chrono_literals;

void check_duration(std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest)
{
    if (value < shortest || value > 1h)
        refuse_config(
            field, std::to_string(value.count()) + "ms",
            "must be from " + std::to_string(shortest.count()) + "ms to one hour");
}

} // namespace

void refuse_config(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument(field + " = '" + value + "': " + rule);
}

void check_address(std::string const& prefix, std::string const& host, std::uint16_t port)
{
    if (host.empty() || host.find('\0') != std::string::npos)
        refuse_config(prefix + "host", host, "must be a host name or an address");
    if (port == 0)
        refuse_config(prefix + "port", "0", "must be from 1 to 65535");
}

void check_login(
    std::string const& prefix, std::string const& username, std::string const& password,
    CredentialsSource const& credentials)
{
    if (!username.empty() && password.empty())
        refuse_config(prefix + "password", "", "must be given where there is a username");
    if (credentials && !password.empty())
        refuse_config(prefix + "password", "***", "must be empty where there is a credentials callback");
}

void check_tls(std::string const& prefix, TlsConfig const& tls)
{
    if (tls.enabled && !TENURE_HAS_TLS)
        refuse_config(
            prefix + "tls.enabled", "true",
            "this build of tenure is without TLS; build tenure with -DTENURE_TLS=ON (Conan: -o tenure/*:tls=True)");
    if (tls.certificate_file.empty() != tls.key_file.empty())
        refuse_config(
            prefix + (tls.key_file.empty() ? "tls.key_file" : "tls.certificate_file"), "",
            "client certificate and key must be given both or not at all");
    if (!tls.enabled && (!tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.server_name.empty()))
        refuse_config(
            prefix + "tls.enabled", "false",
            "must be true where certificates or a server name are given: nothing would be encrypted");
}

void check_limits(
    std::string const& prefix, std::chrono::milliseconds connect_timeout, std::chrono::milliseconds reconnect_backoff)
{
    check_duration(prefix + "connect_timeout", connect_timeout, 100ms);
    check_duration(prefix + "reconnect_backoff", reconnect_backoff, 10ms);
}

} // namespace tenure
