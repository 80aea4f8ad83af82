// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the program `tenure` does in the same way on every store.
#pragma once

#include "system/support/tool_process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

namespace tenure::test
{

/** `status` shows a slot that `run` holds, and `evict` takes it away. */
inline void check_status_and_evict(std::string const& url)
{
    using Catch::Matchers::ContainsSubstring;
    ToolProcess held(
        {"run", "--pool", "job:", "--size", "2", "--ttl", "3s", "--worker", "w1", "--", "sh", "-c",
         "echo ready; exec sleep 600"},
        url);
    REQUIRE(held.says("ready"));

    ToolProcess status({"status", "--pool", "job:", "--size", "2"}, url);
    CHECK(status.exit_code() == 0);
    CHECK_THAT(status.output(), ContainsSubstring("1 of 2 held") && ContainsSubstring("w1"));

    ToolProcess evict({"evict", "--pool", "job:", "--size", "2", "--slot", "0", "--yes"}, url);
    CHECK(evict.exit_code() == 0);
    CHECK(held.exit_code() != 0);
    CHECK_THAT(held.output(), ContainsSubstring("the store proved that the key has another owner or none"));
}

/** The doctor of a store at this address, where no server listens. */
inline void check_doctor_without_server(std::string const& url)
{
    ToolProcess away({"doctor"}, url);
    CHECK(away.exit_code() == 2);
    CHECK_THAT(away.output(), Catch::Matchers::ContainsSubstring("Connection refused"));
}

inline void check_demo(std::string const& url)
{
    using Catch::Matchers::ContainsSubstring;
    ToolProcess demo({"demo", "--workers", "4", "--slots", "2", "--ttl", "2s", "--seconds", "6", "--store", url});
    CHECK(demo.exit_code() == 0);
    CHECK_THAT(
        demo.output(), ContainsSubstring("worker-4 was killed while it held slot") &&
                           ContainsSubstring("after its eviction from slot") &&
                           ContainsSubstring("No slot was ever held by two workers"));
}

} // namespace tenure::test
