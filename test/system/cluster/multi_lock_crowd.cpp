// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Many processes that acquire several of the same keys, which lie on all masters, while one after the other is killed.
#include "system/support/multi_lock_crowd.hpp"

#include "harness/redis_cluster.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace tenure::test
{

TEST_CASE("fifty processes share the keys of all masters by MultiLocks, and none waits in a circle", "[integration]")
{
    require_redis();
    RedisCluster cluster;
    std::set<std::size_t> masters;
    for (std::uint32_t number = 0; number < MultiLockCrowd::keys; ++number)
        masters.insert(cluster.owner_of(MultiLockCrowd::key(number)));
    REQUIRE(masters.size() == RedisCluster::masters);
    MultiLockCrowd crowd(cluster.url());
    crowd.run(soak_time(20s));
    crowd.check([&](std::string const& key) { return cluster.call({"EXISTS", key}).integer != 0; });
}

} // namespace tenure::test
