// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Cool-down, for a worker that is killed: its slot stays closed for one ttl more.
#include "system/support/running_store.hpp"
#include "system/support/tool_process.hpp"

#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

TEST_CASE("the slot of a worker that was killed is granted again after two ttls, not after one", "[redis][cool-down]")
{
    require_redis();
    RedisServer server;
    auto client = server.client();
    auto const ttl = 700ms;
    auto const url = server.url() + "?cool_down=true";
    ToolProcess holder({"run", "--pool", "pool:", "--size", "1", "--ttl", "700ms", "--", "sleep", "60"}, url);
    REQUIRE(eventually([&] { return client.get("pool:0").has_value(); }, 20s));
    RunningStore waiting(url);
    SlotPool pool(waiting.store(), {.prefix = "pool:", .size = 1, .ttl = ttl});
    holder.process().kill();
    auto const killed = Clock::now();
    auto slot = waiting.acquire(pool, {.wait = 15s});
    auto const waited = Clock::now() - killed;
    // the last renewal was a third of the ttl ago at most
    CHECK(waited >= ttl + ttl / 2);
    CHECK(waited < 2 * ttl + 2s);
    waiting.release(slot);
}
