// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Many processes that acquire several of the same keys, while one after the other is killed.
#include "system/support/multi_lock_crowd.hpp"

#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>

namespace tenure::test
{

TEST_CASE_METHOD(RedisTest, "fifty processes share keys by MultiLocks, and none waits in a circle", "[integration]")
{
    auto redis = server.client();
    MultiLockCrowd crowd(server.url());
    crowd.run(soak_time(20s));
    crowd.check([&](std::string const& key) { return redis.get(key).has_value(); });
}

} // namespace tenure::test
