// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` with several locks: all of them or none, and one of them is enough to lose.
#include "system/support/tool_process.hpp"

#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::string>;

namespace
{

Words run_under(Words const& locks, Words const& options, std::string const& script)
{
    Words words = {"run", "--ttl", "2s"};
    for (auto const& lock : locks)
        words.insert(words.end(), {"--lock", lock});
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return words;
}

} // namespace

TEST_CASE(
    "a command under several locks gets their keys and a token for each, in the order named", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool(
        run_under(
            {"b", "a"}, {},
            "echo key=$TENURE_KEY keys=$TENURE_KEYS first=$TENURE_FENCING_TOKEN_1 second=$TENURE_FENCING_TOKEN_2 "
            "single=${TENURE_FENCING_TOKEN-none} third=${TENURE_FENCING_TOKEN_3-none}"),
        server.url());
    CHECK(tool.exit_code() == 0);
    CHECK_THAT(tool.output(), ContainsSubstring("key=b keys=b a ") && ContainsSubstring("single=none third=none\n"));
    CHECK(tool.number_after("first=") > 0);
    CHECK(tool.number_after("second=") > 0);
    CHECK(tool.number_after("first=") != tool.number_after("second="));
    CHECK_FALSE(redis.get("a").has_value());
    CHECK_FALSE(redis.get("b").has_value());
}

TEST_CASE("a run inside a run sees its own locks alone", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ToolProcess tool(
        run_under({"a", "b"}, {}, tool_path() + " run --lock c -- env | grep TENURE_ | sort | cut -d = -f 1"),
        server.url());
    CHECK(tool.exit_code() == 0);
    CHECK(tool.output() == "TENURE_FENCING_TOKEN\nTENURE_KEY\nTENURE_STORE\n");
}

TEST_CASE("processes that name the same locks in opposite orders take turns", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ScratchDirectory directory;
    auto const script =
        "mkdir '" + directory.file("turn") + "' && sleep 0.05 && rmdir '" + directory.file("turn") + "' && echo done";
    std::vector<std::unique_ptr<ToolProcess>> tools;
    for (int i = 0; i < 6; ++i)
        tools.push_back(std::make_unique<ToolProcess>(
            run_under(i % 2 == 0 ? Words{"a", "b"} : Words{"b", "a"}, {}, script), server.url()));
    for (auto const& tool : tools) {
        CHECK(tool->exit_code() == 0);
        CHECK_THAT(tool->output(), ContainsSubstring("done\n"));
    }
}

TEST_CASE("a run that waits for several locks names those that others hold", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ToolProcess holder(run_under({"b"}, {"--worker", "w1"}, "echo holds; exec sleep 600"), server.url());
    REQUIRE(holder.says("holds"));
    ToolProcess tool(run_under({"a", "b", "c"}, {"--wait", "1500ms"}, "echo ran"), server.url());
    CHECK(tool.exit_code() == 75);
    CHECK_THAT(
        tool.output(), ContainsSubstring("tenure: waiting for the locks a, b, c on " + server.url()) &&
                           ContainsSubstring(": b held by w1 for ") && ContainsSubstring("no lease on a, b, c: "));
    CHECK_THAT(
        tool.output(), !ContainsSubstring("ran") && !ContainsSubstring("a held") && !ContainsSubstring("c held"));
}

TEST_CASE(
    "a command under two locks is ended when one of them is lost, and the other is released", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool(
        run_under({"a", "b"}, {}, "trap 'echo asked; exit 0' TERM; echo runs; while :; do sleep 0.05; done"),
        server.url());
    REQUIRE(tool.says("runs"));
    static_cast<void>(redis.call("SET", "b", "thief", "PX", 600'000));
    CHECK(tool.exit_code() == 79);
    CHECK_THAT(
        tool.output(), ContainsSubstring("asked") && ContainsSubstring("the lease on b is lost") &&
                           ContainsSubstring("b was overwritten by other software"));
    CHECK(redis.get("b") == "thief");
    CHECK_FALSE(redis.get("a").has_value());
}

TEST_CASE("status shows several locks in one listing", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ToolProcess holder(run_under({"b"}, {"--worker", "w1"}, "echo holds; exec sleep 600"), server.url());
    REQUIRE(holder.says("holds"));
    ToolProcess table({"status", "--lock", "a", "--lock", "b", "--color", "never"}, server.url());
    CHECK(table.exit_code() == 0);
    CHECK_THAT(
        table.output(), ContainsSubstring("a, b on ") && ContainsSubstring("1 of 2 held\n") &&
                            ContainsSubstring("\na     free") && ContainsSubstring("\nb     w1"));
    ToolProcess json({"status", "--lock", "a", "--lock", "b", "--json"}, server.url());
    CHECK(json.exit_code() == 0);
    CHECK_THAT(
        json.output(), ContainsSubstring(R"({"key":"a","state":"free")") &&
                           ContainsSubstring(R"({"key":"b","state":"held","worker":"w1")"));
    ToolProcess evict({"evict", "--lock", "a", "--lock", "b", "--yes"}, server.url());
    CHECK(evict.exit_code() == 64);
    CHECK_THAT(evict.output(), ContainsSubstring("--lock: this command takes one lock"));
}
