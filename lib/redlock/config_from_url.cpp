// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config_rules.hpp"
#include "url.hpp"

#include <redis/url_options.hpp>

#include <stdexcept>

namespace tenure
{

RedlockConfig redlock_config_from(Url const& url)
{
    if (url.scheme != "redlock" && url.scheme != "redlocks")
        throw std::invalid_argument("store URL: scheme '" + url.scheme + "': must be redlock:// or redlocks://");
    redis::refuse_replica_options(url, "a majority of the servers stands in for replicas");
    if (auto const found = url.options.find("delay_after_failover"); found != url.options.end())
        redis::refuse_url(
            "option " + found->first, found->second,
            std::string("must not be there: ") + redlock::no_delay_after_failover);
    RedlockConfig config;
    for (auto const& host : url.hosts) {
        auto single = url;
        single.scheme = url.scheme == "redlocks" ? "rediss" : "redis";
        single.hosts = {host};
        config.servers.push_back(redis_config_from(single));
        // one that is back has to be used again within a fraction of a ttl, before the next one goes
        if (!url.options.contains("reconnect_backoff"))
            config.servers.back().reconnect_backoff = std::chrono::milliseconds(300);
    }
    redlock::check_config(config);
    return config;
}

} // namespace tenure
