// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The program `tenure` on ZooKeeper.
#include "system/tool/store_checks.hpp"

#include "harness/paths.hpp"
#include "harness/zookeeper_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE_METHOD(ZookeeperTest, "status, evict and doctor work on ZooKeeper", "[zookeeper][tool]")
{
    check_status_and_evict(server.url());

    ToolProcess doctor({"doctor", "--ttl", "3s"}, server.url());
    CHECK(doctor.exit_code() == 1); // no login is required
    CHECK_THAT(
        doctor.output(), ContainsSubstring("access: no login") && ContainsSubstring("3000 ms, 30 ticks of 100 ms") &&
                             ContainsSubstring("permissions: nodes can be created and removed"));

    check_doctor_without_server("zookeeper://127.0.0.1:1");
}

TEST_CASE_METHOD(ZookeeperTest, "the demo runs with processes on ZooKeeper and ends well", "[zookeeper][tool][demo]")
{
    check_demo(server.url());
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
