// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The program `tenure` on PostgreSQL, and the example of a guarded write.
#include "system/tool/store_checks.hpp"

#include "harness/paths.hpp"
#include "harness/postgresql_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE_METHOD(PostgresqlTest, "init prepares a database for a worker, and may be run again", "[postgresql][tool]")
{
    auto const port = std::to_string(server.port());
    auto const url = "postgresql://postgres@127.0.0.1:" + port + "/postgres";
    PostgresqlPerson person(server.port());
    person.ask("CREATE ROLE \"the worker\" LOGIN");
    ToolProcess before({"doctor"}, "postgresql://the%20worker@127.0.0.1:" + port + "/postgres");
    CHECK(before.exit_code() == 2);
    CHECK_THAT(before.output(), ContainsSubstring("tenure init"));
    for (int i = 0; i < 2; ++i) {
        ToolProcess init({"init", url, "--role", "the worker"});
        CHECK(init.exit_code() == 0);
        CHECK_THAT(
            init.output(), ContainsSubstring("the schema is ready") && ContainsSubstring("role the worker may use it"));
    }
    ToolProcess run(
        {"run", "--lock", "nightly", "--", "sh", "-c", "echo token $TENURE_FENCING_TOKEN"},
        "postgresql://the%20worker@127.0.0.1:" + port + "/postgres");
    CHECK(run.exit_code() == 0);
    CHECK(run.number_after("token ") > 0);

    ToolProcess print({"init", "--print"});
    CHECK(print.exit_code() == 0);
    CHECK(person.code_of(print.output()).empty());
    ToolProcess wrong({"init", "redis://127.0.0.1"});
    CHECK(wrong.exit_code() == 64);
    CHECK_THAT(wrong.output(), ContainsSubstring("other stores need no schema"));
}

TEST_CASE_METHOD(PostgresqlTest, "status, evict and doctor work on PostgreSQL", "[postgresql][tool]")
{
    check_status_and_evict(server.url());
    ToolProcess doctor({"doctor", "--ttl", "3s"}, server.url());
    CHECK(doctor.exit_code() == 1); // no standby
    CHECK_THAT(
        doctor.output(), ContainsSubstring("version: PostgreSQL") && ContainsSubstring("synchronous standbys: none") &&
                             ContainsSubstring("durability: fsync on") && ContainsSubstring("a commit takes"));
    check_doctor_without_server("postgresql://127.0.0.1:1/postgres");
}
