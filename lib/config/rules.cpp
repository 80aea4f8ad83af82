// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Rules for fields that configs of several kinds of stores share.
#include "rules.hpp"

#include "url.hpp"

#include <tenure/features.hpp>

#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace tenure
{

namespace
{

/// lists of addresses contain commas, and a path may follow them
constexpr std::string_view not_in_host{"\0,/ ", 4};

} // namespace

void refuse_config(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument(field + " = '" + value + "': " + rule);
}

void check_duration(
    std::string const& field, std::chrono::milliseconds value, std::chrono::milliseconds shortest,
    std::chrono::milliseconds longest)
{
    if (value < shortest || value > longest)
        refuse_config(
            field, duration_text(value), "must be from " + duration_text(shortest) + " to " + duration_text(longest));
}

void check_address(std::string const& prefix, std::string const& host, std::uint16_t port)
{
    if (host.empty() || host.find_first_of(not_in_host) != std::string::npos)
        refuse_config(prefix + "host", host, "must be a host name or an address");
    if (port == 0)
        refuse_config(prefix + "port", "0", "must be from 1 to 65535");
}

void check_endpoints(std::string const& prefix, std::string const& field, std::vector<Endpoint> const& endpoints)
{
    if (endpoints.empty() || endpoints.size() > 64)
        refuse_config(prefix + field, std::to_string(endpoints.size()) + " " + field, "must be from 1 to 64");
    for (std::size_t i = 0; i < endpoints.size(); ++i)
        check_address(prefix + field + "[" + std::to_string(i) + "].", endpoints[i].host, endpoints[i].port);
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

} // namespace tenure
