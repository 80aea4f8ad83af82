// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "cluster_under_attack.hpp"
#include "etcd_under_attack.hpp"
#include "file_under_attack.hpp"
#ifdef TENURE_TESTS_POSTGRESQL
#include "postgresql_under_attack.hpp"
#endif
#include "redis_under_attack.hpp"
#include "redlock_under_attack.hpp"
#include "sentinel_under_attack.hpp"
#include "store_under_attack.hpp"
#include "zookeeper_under_attack.hpp"

#include "harness/child_process.hpp"
#include "harness/redis_server.hpp"
#include "harness/zookeeper_server.hpp"

namespace tenure::faults
{

namespace
{

std::string without_redis()
{
    return test::redis_server_program().empty()
               ? std::string{"no redis-server in PATH, and TENURE_REDIS_SERVER names none"}
               : std::string{};
}

std::string without_etcd()
{
    return test::find_program("etcd").empty() || test::find_program("etcdctl").empty()
               ? std::string{"no etcd or no etcdctl in PATH"}
               : std::string{};
}

std::string nothing_missing()
{
    return {};
}

template <class Store>
std::unique_ptr<StoreUnderAttack> open(Arena const& arena)
{
    return std::make_unique<Store>(arena);
}

} // namespace

std::vector<Scheme> const& schemes()
{
    static std::vector<Scheme> const all{
        {"file", nothing_missing, open<FileUnderAttack>, Arena{}.ttl, true},
        {"redis", without_redis, open<RedisUnderAttack>},
        {"redis+sentinel", without_redis, open<SentinelUnderAttack>},
        {"redis+cluster", without_redis, open<ClusterUnderAttack>},
        {"redlock", without_redis, open<RedlockUnderAttack>},
        {"etcd", without_etcd, open<EtcdUnderAttack>, std::chrono::seconds{4}},
#ifdef TENURE_TESTS_POSTGRESQL
        {"postgresql", test::missing_postgresql, open<PostgresqlUnderAttack>, std::chrono::seconds{3}},
        {"postgresql+pgbouncer", test::missing_pgbouncer, open<PooledPostgresqlUnderAttack>, std::chrono::seconds{3}},
#endif
        {"zookeeper", test::missing_zookeeper, open<ZookeeperUnderAttack>, std::chrono::seconds{5}},
    };
    return all;
}

} // namespace tenure::faults
