// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"
#include "url.hpp"

#include <stdexcept>

namespace tenure
{

RedlockConfig redlock_config_from(Url const& url)
{
    if (url.scheme != "redlock" && url.scheme != "redlocks")
        throw std::invalid_argument("store URL: scheme '" + url.scheme + "': must be redlock:// or redlocks://");
    RedlockConfig config;
    for (auto const& host : url.hosts) {
        auto single = url;
        single.scheme = url.scheme == "redlocks" ? "rediss" : "redis";
        single.hosts = {host};
        config.servers.push_back(redis_config_from(single));
    }
    redlock::check_config(config);
    return config;
}

} // namespace tenure
