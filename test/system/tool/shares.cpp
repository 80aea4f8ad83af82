// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` with fair locks, read-write locks and semaphores.
#include "system/support/tool_process.hpp"

#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** A command that holds what the options name until it is ended. */
std::vector<std::string> held_by(std::vector<std::string> options)
{
    options.insert(options.begin(), "run");
    options.insert(
        options.end(), {"--ttl", "2s", "--", "sh", "-c", "echo holds token=$TENURE_FENCING_TOKEN; exec sleep 600"});
    return options;
}

int tried(std::vector<std::string> options, std::string const& store)
{
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--wait", "0", "--", "true"});
    return ToolProcess(options, store).exit_code();
}

} // namespace

TEST_CASE("readers share a lock, and a writer has it alone", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    {
        ToolProcess const first(held_by({"--shared", "catalogue"}), server.url());
        REQUIRE(first.says("holds"));
        ToolProcess const second(held_by({"--shared", "catalogue"}), server.url());
        REQUIRE(second.says("holds"));
        CHECK(first.number_after("token=") != second.number_after("token="));
        CHECK(tried({"--exclusive", "catalogue"}, server.url()) == 75);
    }
    ToolProcess const writer(held_by({"--exclusive", "catalogue"}), server.url());
    REQUIRE(writer.says("holds"));
    CHECK(tried({"--shared", "catalogue"}, server.url()) == 75);
}

TEST_CASE("a fair lock is granted in the order of waiting, and a try does not overtake", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ToolProcess holder(held_by({"--fair", "press"}), server.url());
    REQUIRE(holder.says("holds"));
    ToolProcess first(held_by({"--fair", "press"}), server.url());
    REQUIRE(first.says("waiting for the lock press"));
    ToolProcess const second(held_by({"--fair", "press"}), server.url());
    REQUIRE(second.says("waiting for the lock press"));
    holder.process().signal(SIGTERM);
    REQUIRE(first.says("holds"));
    CHECK_THAT(second.output(), !ContainsSubstring("holds"));
    CHECK(tried({"--fair", "press"}, server.url()) == 75);
    first.process().signal(SIGTERM);
    CHECK(second.says("holds"));
}

TEST_CASE("a command takes several permits of a semaphore, or none", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    std::vector<std::string> const builds = {"--semaphore", "builds", "--permits", "4"};
    auto const take = [&](char const* count) {
        auto options = builds;
        options.insert(options.end(), {"--take", count});
        return options;
    };
    ToolProcess const holder(held_by(take("3")), server.url());
    REQUIRE(holder.says("holds"));
    CHECK(tried(take("2"), server.url()) == 75);
    CHECK(tried(builds, server.url()) == 0);
    ToolProcess const waiting(held_by(take("2")), server.url());
    CHECK(waiting.says("waiting for the semaphore builds on " + server.url()));
}

TEST_CASE("a lock stays taken after its release, if the run says so", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    CHECK(tried({"--lock", "press", "--reuse-after", "30s"}, server.url()) == 0);
    CHECK(tried({"--lock", "press"}, server.url()) == 75);
}

TEST_CASE("a mistake with kinds of locks is told in the words of the options", "[integration][tool]")
{
    struct Mistake {
        std::vector<std::string> options;
        std::string words;
    };
    for (auto const& [options, words] : std::vector<Mistake>{
             {{"--semaphore", "s"}, "--semaphore: say by --permits N how many permits there are"},
             {{"--semaphore", "s", "--permits", "2", "--take", "3"}, "--take is 3: at most the 2 of --permits"},
             {{"--shared", "s", "--permits", "2"}, "--permits and --take are for --semaphore NAME"},
             {{"--shared", "s", "--exclusive", "s"}, "--shared excludes --exclusive"},
             {{"--fair", "s", "--lock", "t"}, "--lock excludes --fair"},
             {{"--fair", "s", "--reuse-after", "1s"}, "--reuse-after is for a pool or one --lock"},
             {{"--fair", "s", "--window", "1h"}, "--window is for one lock: name it by --lock NAME"},
             {{"--fair", ""}, "--fair"},
         }) {
        auto arguments = held_by(options);
        ToolProcess tool(arguments, "redis://127.0.0.1:1");
        CHECK(tool.exit_code() == 64);
        CHECK_THAT(tool.output(), ContainsSubstring(words) && !ContainsSubstring("::"));
    }
    ToolProcess redlock(held_by({"--shared", "s"}), "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3");
    CHECK(redlock.exit_code() == 64);
    CHECK_THAT(
        redlock.output(), ContainsSubstring("--shared, --exclusive: redlock://") && !ContainsSubstring("Config"));
}
