// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Fencing tokens of a key increase whatever happens to the server (S10).
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** A resource that accepts no smaller token than the largest it has seen. */
class Register
{
public:
    [[nodiscard]] bool write(std::uint64_t token)
    {
        bool const accepted = token > largest_;
        largest_ = std::max(largest_, token);
        return accepted;
    }

private:
    std::uint64_t largest_ = 0;
};

} // namespace

TEST_CASE("fencing tokens increase through restarts, losses and flushes of the server", "[integration]")
{
    require_redis();
    bool const persistent = GENERATE(false, true);
    CAPTURE(persistent);
    RedisServerOptions options;
    if (persistent)
        options.config = {"appendonly yes", "appendfsync always"};
    RedisServer server{options};
    RunningStore running{server.url()};
    auto const pool = running.pool(1, 500ms);
    auto const tagged = Lock{running.store(), {.key = "{tag}:lock", .ttl = 500ms}};
    Register of_pool;
    Register of_lock;
    for (int round = 0; round < (long_form() ? 120 : 12); ++round) {
        CAPTURE(round);
        Slot kept;
        for (int i = 0; i < 3; ++i) {
            auto slot = RunningStore::acquire(pool);
            auto lease = RunningStore::acquire(tagged);
            CHECK(of_pool.write(slot.fencing_token()));
            CHECK(of_lock.write(lease.fencing_token()));
            RunningStore::release(lease);
            // the last one is still held when the server is disturbed
            if (i == 2)
                kept = std::move(slot);
            else
                RunningStore::release(slot);
        }
        switch (round % 4) {
        case 0:
            server.restart();
            break;
        case 1:
            server.client().call("FLUSHALL");
            break;
        case 2:
            server.client().call("DEL", "tenure:fence");
            break;
        default:
            server.client().call("SCRIPT", "FLUSH");
            break;
        }
    }
}

TEST_CASE_METHOD(RunningStoreTest, "one counter serves all keys, and no key has a fence of its own", "[integration]")
{
    auto slot = RunningStore::acquire(running.pool(1, 1s));
    auto lease = RunningStore::acquire(running.lock("{tag}:lock", 1s));
    CHECK(lease.fencing_token() > slot.fencing_token());
    CHECK(redis.get("tenure:fence") == std::to_string(lease.fencing_token()));
    RunningStore::release(slot);
    RunningStore::release(lease);
    CHECK(redis.keys("*") == std::vector<std::string>{"tenure:fence"});
}

TEST_CASE_METHOD(
    RunningStoreTest, "a counter that is far ahead of the clock still increases by one, and is exact", "[integration]")
{
    // beyond 2^53: a Lua number would round it
    std::uint64_t const ahead = 9'107'199'254'740'993'000;
    redis.call("SET", "tenure:fence", ahead);
    auto const lock = running.lock("ahead", 1s);
    for (std::uint64_t i = 1; i < 5; ++i) {
        auto lease = RunningStore::acquire(lock);
        CHECK(lease.fencing_token() == ahead + i);
        RunningStore::release(lease);
    }
}
