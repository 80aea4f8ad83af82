// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Signals to `tenure run` that are not the command's to handle, and how the program ends by them.
#include "system/support/caught_signals.hpp"
#include "system/support/tool_process.hpp"

#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <string>

using namespace std::chrono_literals;
using namespace tenure::test;

TEST_CASE("a signal that comes just before the wait begins ends the program at once", "[integration][tool]")
{
    auto const nowhere = "redis://127.0.0.1:" + std::to_string(free_port());
    for (int round = 0; round < 20; ++round) {
        ToolProcess tool({"run", "--lock", "x", "--wait", "forever", "true"}, nowhere);
        REQUIRE(eventually([&] { return catches(tool.process().pid(), SIGTERM); }, 10s, 0ms));
        tool.process().signal(SIGTERM);
        CHECK(tool.exit_code() == 128 + SIGTERM);
    }
}

TEST_CASE("a run dies of SIGINT if its command did, and exits if its command exited", "[integration][tool]")
{
    auto const end_of = [](std::string const& script) {
        ToolProcess tool({"run", "--lock", "x", "sh", "-c", script}, "memory://");
        return tool.process().wait_for(30s);
    };
    CHECK(end_of("kill -INT $$") == ExitStatus{-1, SIGINT});
    CHECK(end_of("exit 130") == ExitStatus{130, 0});
    CHECK(end_of("kill -TERM $$") == ExitStatus{143, 0});
}

TEST_CASE("a run that SIGINT ended holds nothing", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool({"run", "--lock", "x", "sh", "-c", "echo ready; exec sleep 600"}, server.url());
    REQUIRE(tool.says("ready"));
    REQUIRE(redis.get("x").has_value());
    tool.process().signal(SIGINT);
    CHECK(tool.process().wait_for(30s) == ExitStatus{-1, SIGINT});
    CHECK_FALSE(redis.get("x").has_value());
}

TEST_CASE("a campaign that SIGINT ended dies of it", "[integration][tool]")
{
    auto const nowhere = "redis://127.0.0.1:" + std::to_string(free_port());
    ToolProcess tool({"elect", "scheduler", "true"}, nowhere);
    REQUIRE(tool.says("campaigning on"));
    tool.process().signal(SIGINT);
    CHECK(tool.process().wait_for(30s) == ExitStatus{-1, SIGINT});
}
