// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of etcd: parsing, checks, and its name.
#include "config.hpp"

#include <config/rules.hpp>
#include <net/endpoint.hpp>

namespace tenure::etcd
{

EtcdConfig config_from(Url const& url)
{
    if (url.path.size() > 1)
        refuse_url("path", url.path, "must not be there: a prefix belongs to the pool or lock");
    EtcdConfig config;
    config.endpoints = endpoints_from(url, 2379);
    auto options = read_connection(config, url, schemes::etcd);
    options.read_number("connections", config.connections, "must be a number from 1 to 256");
    options.refuse_others();
    return config;
}

void check_config(EtcdConfig const& config)
{
    std::string const prefix = "EtcdConfig::";
    check_endpoints(prefix, "endpoints", config.endpoints);
    check_connection(prefix, config);
    if (config.username.empty() && !config.password.empty())
        refuse_config(prefix + "username", "", "must be given where there is a password");
    if (config.connections == 0 || config.connections > 256)
        refuse_config(prefix + "connections", std::to_string(config.connections), "must be from 1 to 256");
}

std::string describe(EtcdConfig const& config)
{
    return schemes::etcd.prefix(config.tls.enabled) + to_string(config.endpoints);
}

} // namespace tenure::etcd
