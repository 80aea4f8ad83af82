// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/arena.hpp"

#include "figures/redlock_servers.hpp"
#include "harness/etcd_process.hpp"
#include "harness/redis_cluster.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/sentinel_group.hpp"
#include "harness/zookeeper_process.hpp"

#include <tenure/features.hpp>

namespace bench
{

namespace
{

template <class Servers>
std::unique_ptr<Arena> make(std::string name, bool fair, std::shared_ptr<Servers> const& servers)
{
    return std::make_unique<Arena>(std::move(name), servers->url(), fair, servers);
}

template <class Process>
std::unique_ptr<Arena> where_installed(Setting const& setting, std::string const& name)
{
    if (Process::installed())
        return make(name, false, std::make_shared<Process>());
    setting.report.note(name + " is not installed, so it is not measured");
    return nullptr;
}

std::unique_ptr<Arena> memory(Setting const&)
{
    return std::make_unique<Arena>("memory", "memory://bench", true, nullptr);
}

std::unique_ptr<Arena> file(Setting const&)
{
    auto const directory =
        std::make_shared<tenure::test::ScratchDirectory>(tenure::test::ScratchDirectory::Place::memory);
    return std::make_unique<Arena>("file", "file://" + directory->path(), true, directory);
}

std::unique_ptr<Arena> redis(Setting const& setting)
{
    return std::make_unique<Arena>("redis", setting.redis.url(), true, nullptr);
}

std::unique_ptr<Arena> sentinel(Setting const&)
{
    return make("sentinel", true, std::make_shared<tenure::test::SentinelGroup>());
}

std::unique_ptr<Arena> cluster(Setting const&)
{
    return make("cluster", true, std::make_shared<tenure::test::RedisCluster>());
}

std::unique_ptr<Arena> redlock(Setting const& setting)
{
    return make("redlock", false, std::make_shared<RedlockServers>(setting.redis.program(), 3));
}

std::unique_ptr<Arena> etcd(Setting const& setting)
{
    return where_installed<EtcdProcess>(setting, "etcd");
}

std::unique_ptr<Arena> zookeeper(Setting const& setting)
{
#if TENURE_HAS_ZOOKEEPER
    return where_installed<ZookeeperProcess>(setting, "zookeeper");
#else
    setting.report.note("zookeeper: this build is without it, so it is not measured");
    return nullptr;
#endif
}

} // namespace

std::vector<std::function<std::unique_ptr<Arena>(Setting const&)>> arenas()
{
    return {memory, file, redis, sentinel, cluster, redlock, etcd, zookeeper};
}

} // namespace bench
