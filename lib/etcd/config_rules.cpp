// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"

#include <net/config_rules.hpp>
#include <net/endpoint.hpp>

#include <cstddef>
#include <string>

namespace tenure::etcd
{

void check_config(EtcdConfig const& config)
{
    std::string const prefix = "EtcdConfig::";
    if (config.endpoints.empty() || config.endpoints.size() > 64)
        net::refuse_config(
            prefix + "endpoints", std::to_string(config.endpoints.size()) + " endpoints", "must be from 1 to 64");
    for (std::size_t i = 0; i < config.endpoints.size(); ++i)
        net::check_address(
            prefix + "endpoints[" + std::to_string(i) + "].", config.endpoints[i].host, config.endpoints[i].port);
    net::check_login(prefix, config.username, config.password, config.credentials);
    if (config.username.empty() && !config.password.empty())
        net::refuse_config(prefix + "username", "", "must be given where there is a password");
    net::check_tls(prefix, config.tls);
    if (config.connections == 0 || config.connections > 256)
        net::refuse_config(prefix + "connections", std::to_string(config.connections), "must be from 1 to 256");
    net::check_limits(prefix, config.connect_timeout, config.reconnect_backoff);
}

std::string describe(EtcdConfig const& config)
{
    return (config.tls.enabled ? "etcds://" : "etcd://") + net::endpoints_text(config.endpoints);
}

} // namespace tenure::etcd
