// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The program `tenure` on etcd.
#include "system/tool/store_checks.hpp"

#include "harness/etcd_server.hpp"
#include "harness/paths.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE_METHOD(EtcdTest, "status, evict and doctor work on etcd", "[etcd][tool]")
{
    check_status_and_evict(server.url());

    ToolProcess doctor({"doctor", "--ttl", "3s"}, server.url());
    CHECK(doctor.exit_code() == 1); // a cluster of one
    CHECK_THAT(
        doctor.output(), ContainsSubstring("version: etcd 3.") && ContainsSubstring("members: 1 member") &&
                             ContainsSubstring("3000 ms, kept by the server for 3 s") &&
                             ContainsSubstring("alarms: none"));

    check_doctor_without_server("etcd://127.0.0.1:1");
}

TEST_CASE_METHOD(EtcdTest, "the demo runs with processes on etcd and ends well", "[etcd][tool][demo]")
{
    check_demo(server.url());
}

TEST_CASE_METHOD(EtcdTest, "a command runs once in a window on etcd, and two locks are held together", "[etcd][tool]")
{
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
