// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The program `tenure` on ZooKeeper.
#include "system/support/tool_process.hpp"

#include "harness/paths.hpp"
#include "harness/zookeeper_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("status, evict and doctor work on ZooKeeper", "[zookeeper][tool]")
{
    require_zookeeper();
    ZookeeperServer const server;
    ToolProcess held(
        {"run", "--pool", "job:", "--size", "2", "--ttl", "3s", "--worker", "w1", "--", "sh", "-c",
         "echo ready; exec sleep 600"},
        server.url());
    REQUIRE(held.says("ready"));

    ToolProcess status({"status", "--pool", "job:", "--size", "2"}, server.url());
    CHECK(status.exit_code() == 0);
    CHECK_THAT(status.output(), ContainsSubstring("1 of 2 held") && ContainsSubstring("w1"));

    ToolProcess evict({"evict", "--pool", "job:", "--size", "2", "--slot", "0", "--yes"}, server.url());
    CHECK(evict.exit_code() == 0);
    CHECK(held.exit_code() != 0);
    CHECK_THAT(held.output(), ContainsSubstring("the store proved that the key is not ours any more"));

    ToolProcess doctor({"doctor", "--ttl", "3s"}, server.url());
    CHECK(doctor.exit_code() == 1); // no login is required
    CHECK_THAT(
        doctor.output(), ContainsSubstring("access: no login") && ContainsSubstring("3000 ms, 30 ticks of 100 ms") &&
                             ContainsSubstring("permissions: nodes can be created and removed"));

    ToolProcess away({"doctor"}, "zookeeper://127.0.0.1:1");
    CHECK(away.exit_code() == 2);
    CHECK_THAT(away.output(), ContainsSubstring("Connection refused"));
}

TEST_CASE("the demo runs with processes on ZooKeeper and ends well", "[zookeeper][tool][demo]")
{
    require_zookeeper();
    ZookeeperServer const server;
    ToolProcess demo(
        {"demo", "--workers", "4", "--slots", "2", "--ttl", "2s", "--seconds", "6", "--store", server.url()});
    CHECK(demo.exit_code() == 0);
    CHECK_THAT(
        demo.output(), ContainsSubstring("worker-4 was killed while it held slot") &&
                           ContainsSubstring("after its eviction from slot") &&
                           ContainsSubstring("No slot was ever held by two workers"));
}

TEST_CASE("a window is refused before the command runs, because ZooKeeper cannot keep its lock", "[zookeeper][tool]")
{
    ToolProcess tool(
        {"run", "--window", "1h", "--lock", "nightly", "--", "sh", "-c", "echo ran"}, "zookeeper://127.0.0.1:1");
    CHECK(tool.exit_code() == 64);
    CHECK_THAT(
        tool.output(), ContainsSubstring("--window: the store cannot keep a key taken without a holder: a node lasts "
                                         "as long as the session of its process"));
    CHECK_THAT(tool.output(), !ContainsSubstring("ran\n"));
}
