// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/connect.hpp>
#include <tenure/stores/etcd.hpp>
#include <tenure/stores/memory.hpp>
#include <tenure/stores/redis.hpp>
#include <tenure/stores/redis_cluster.hpp>
#include <tenure/stores/redis_sentinel.hpp>
#include <tenure/stores/redlock.hpp>
#include <tenure/stores/zookeeper.hpp>

#include "url.hpp"

#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

MemoryConfig memory_config_from(Url const& url)
{
    if (url.user || url.password || !url.path.empty() || !url.options.empty() || url.hosts.size() > 1)
        throw std::invalid_argument(
            "a memory:// URL has nothing but a name: memory://NAME, or memory:// for keys shared with nobody");
    return MemoryConfig{url.hosts.empty() ? std::string() : url.hosts.front().name};
}

} // namespace

Store connect(asio::any_io_executor executor, std::string_view url, StoreOptions options)
{
    auto const parsed = parse_url(url);
    check_scheme(parsed);
    if (parsed.scheme == "memory")
        return open_memory(std::move(executor), memory_config_from(parsed), std::move(options));
    if (parsed.scheme == "redlock" || parsed.scheme == "redlocks")
        return open_redlock(std::move(executor), redlock_config_from(parsed), std::move(options));
    if (parsed.scheme == "etcd" || parsed.scheme == "etcds")
        return open_etcd(std::move(executor), etcd_config_from(parsed), std::move(options));
    if (parsed.scheme == "zookeeper")
        return open_zookeeper(std::move(executor), zookeeper_config_from(parsed), std::move(options));
    if (parsed.scheme.ends_with("+sentinel"))
        return open_redis_sentinel(std::move(executor), redis_sentinel_config_from(parsed), std::move(options));
    if (parsed.scheme.ends_with("+cluster"))
        return open_redis_cluster(std::move(executor), redis_cluster_config_from(parsed), std::move(options));
    return open_redis(std::move(executor), redis_config_from(parsed), std::move(options));
}

} // namespace tenure
