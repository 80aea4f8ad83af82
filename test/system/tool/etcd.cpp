// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The program `tenure` on etcd.
#include "system/support/tool_process.hpp"

#include "harness/etcd_server.hpp"
#include "harness/paths.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("status, evict and doctor work on etcd", "[etcd][tool]")
{
    require_etcd();
    EtcdServer const server;
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
    CHECK(doctor.exit_code() == 1); // a cluster of one
    CHECK_THAT(
        doctor.output(), ContainsSubstring("version: etcd 3.") && ContainsSubstring("members: 1 member") &&
                             ContainsSubstring("3000 ms, kept by the server for 3 s") &&
                             ContainsSubstring("alarms: none"));

    ToolProcess away({"doctor"}, "etcd://127.0.0.1:1");
    CHECK(away.exit_code() == 2);
    CHECK_THAT(away.output(), ContainsSubstring("Connection refused"));
}

TEST_CASE("the demo runs with processes on etcd and ends well", "[etcd][tool][demo]")
{
    require_etcd();
    EtcdServer const server;
    ToolProcess demo(
        {"demo", "--workers", "4", "--slots", "2", "--ttl", "2s", "--seconds", "6", "--store", server.url()});
    CHECK(demo.exit_code() == 0);
    CHECK_THAT(
        demo.output(), ContainsSubstring("worker-4 was killed while it held slot") &&
                           ContainsSubstring("after its eviction from slot") &&
                           ContainsSubstring("No slot was ever held by two workers"));
}

TEST_CASE("a command runs once in a window on etcd, and two locks are held together", "[etcd][tool]")
{
    require_etcd();
    EtcdServer const server;
    ToolProcess first({"run", "--window", "1h", "--lock", "nightly", "--", "sh", "-c", "echo ran"}, server.url());
    CHECK(first.exit_code() == 0);
    ToolProcess second({"run", "--window", "1h", "--lock", "nightly", "--", "sh", "-c", "echo ran"}, server.url());
    CHECK(second.exit_code() == 80);
    CHECK_THAT(second.output(), ContainsSubstring("has been run in this window") && !ContainsSubstring("ran\n"));
    ToolProcess both(
        {"run", "--lock", "b", "--lock", "a", "--", "sh", "-c", "echo $TENURE_KEYS $TENURE_FENCING_TOKEN_2"},
        server.url());
    CHECK(both.exit_code() == 0);
    CHECK(both.number_after("b a ") > 0);
}
