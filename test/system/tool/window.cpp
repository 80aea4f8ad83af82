// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run --window`: once in a window, and once for an occurrence.
#include "system/support/tool_process.hpp"

#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::string>;

namespace
{

Words run_in(Words const& window, std::string const& script, std::string const& ttl = "2s")
{
    Words words = {"run", "--lock", "nightly", "--ttl", ttl, "--worker", "w1"};
    words.insert(words.end(), window.begin(), window.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return words;
}

/** The options of a command that waits for its window up to this limit. */
Words waiting(Words window, std::string const& limit)
{
    window.insert(window.end(), {"--wait", limit});
    return window;
}

Words const an_hour = {"--window", "1h"};
/// 2026-01-31T02:00Z is 1769824800
Words const at_two = {"--window", "1h", "--at", "2026-01-31T02:00Z"};
constexpr auto key_of_two = "nightly/1769824800000";

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a command runs once in a window, which counts from the grant of its lock", "[integration][tool]")
{
    auto redis = server.client();
    ToolProcess first(run_in(an_hour, "echo ran as $TENURE_KEY; sleep 1"), server.url());
    CHECK(first.exit_code() == 0);
    CHECK_THAT(first.output(), ContainsSubstring("ran as nightly\n"));
    // it ran for a second of the hour
    CHECK(redis.pttl("nightly") <= 3'599'000);
    CHECK(redis.pttl("nightly") > 3'500'000);

    ToolProcess second(run_in(an_hour, "echo ran"), server.url());
    CHECK(second.exit_code() == 80);
    CHECK_THAT(
        second.output(), ContainsSubstring("tenure: not run: nightly has been run in this window by w1; the lock is "
                                           "kept for another 59 min 5"));
    CHECK_THAT(second.output(), !ContainsSubstring("ran\n"));
}

TEST_CASE_METHOD(
    RedisTest, "while a command runs in its window, another process does not run it and says who does",
    "[integration][tool]")
{
    ToolProcess first(run_in(an_hour, "echo runs; exec sleep 600"), server.url());
    REQUIRE(first.says("runs"));
    ToolProcess second(run_in(an_hour, "echo ran"), server.url());
    CHECK(second.exit_code() == 80);
    CHECK_THAT(
        second.output(),
        ContainsSubstring("tenure: not run: nightly is held by w1 for ") && ContainsSubstring(", which runs it"));
}

TEST_CASE_METHOD(RedisTest, "a command that fails gives its window back", "[integration][tool]")
{
    auto redis = server.client();
    ToolProcess first(run_in(an_hour, "exit 3"), server.url());
    CHECK(first.exit_code() == 3);
    CHECK_FALSE(redis.get("nightly").has_value());
    ToolProcess second(run_in(an_hour, "echo ran"), server.url());
    CHECK(second.exit_code() == 0);
    CHECK_THAT(second.output(), ContainsSubstring("ran\n"));
}

TEST_CASE_METHOD(
    RedisTest, "a process that waits for a window runs the command when the one before it fails", "[integration][tool]")
{
    ToolProcess first(run_in(at_two, "echo runs; sleep 1.5; exit 3"), server.url());
    REQUIRE(first.says("runs"));
    ToolProcess second(run_in(waiting(at_two, "30s"), "echo ran"), server.url());
    CHECK(second.exit_code() == 0);
    CHECK_THAT(second.output(), ContainsSubstring("ran\n"));
    CHECK(first.exit_code() == 3);
}

TEST_CASE_METHOD(
    RedisTest, "a process that waits for an occurrence stops waiting when it has been run", "[integration][tool]")
{
    ToolProcess first(run_in(at_two, "echo runs; sleep 1.5"), server.url());
    REQUIRE(first.says("runs"));
    ToolProcess second(run_in(waiting(at_two, "forever"), "echo ran"), server.url());
    CHECK(second.exit_code() == 80);
    CHECK_THAT(second.output(), ContainsSubstring("not run: nightly of 2026-01-31T02:00:00Z has been run by w1"));
    CHECK_THAT(second.output(), !ContainsSubstring("ran\n"));
    CHECK(first.exit_code() == 0);
}

TEST_CASE_METHOD(
    RedisTest, "a process that is killed in the middle lets another one run the command after the ttl",
    "[integration][tool]")
{
    ToolProcess first(run_in(an_hour, "echo runs; exec sleep 600", "1s"), server.url());
    REQUIRE(first.says("runs"));
    first.process().signal(SIGKILL);
    ToolProcess second(run_in(waiting(an_hour, "30s"), "echo ran"), server.url());
    CHECK(second.exit_code() == 0);
    CHECK_THAT(second.output(), ContainsSubstring("ran\n"));
}

TEST_CASE_METHOD(RedisTest, "an occurrence is run once, however its time is written", "[integration][tool]")
{
    auto redis = server.client();
    ToolProcess first(run_in(at_two, "echo ran as $TENURE_KEY; sleep 0.5"), server.url());
    CHECK(first.exit_code() == 0);
    CHECK_THAT(first.output(), ContainsSubstring(std::string("ran as ") + key_of_two));
    // from its end: nothing but this occurrence has this key
    CHECK(redis.pttl(key_of_two) > 3'590'000);
    for (auto const* const at : {"@1769824800", "2026-01-31T02:59:59Z"}) {
        ToolProcess again(run_in({"--window", "1h", "--at", at}, "echo ran"), server.url());
        CHECK(again.exit_code() == 80);
        CHECK_THAT(again.output(), !ContainsSubstring("ran\n"));
    }
    ToolProcess next(run_in({"--window", "1h", "--at", "@1769828400"}, "echo ran"), server.url());
    CHECK(next.exit_code() == 0);
}

TEST_CASE_METHOD(RedisTest, "of two processes that run an occurrence at once, one runs it", "[integration][tool]")
{
    for (int second = 0; second < 5; ++second) {
        Words const occurrence = {"--window", "1s", "--at", "@" + std::to_string(second)};
        ToolProcess one(run_in(occurrence, "echo ran"), server.url());
        ToolProcess other(run_in(occurrence, "echo ran"), server.url());
        auto const codes = std::pair(one.exit_code(), other.exit_code());
        CHECK((codes == std::pair(0, 80) || codes == std::pair(80, 0)));
        auto const output = one.output() + other.output();
        CHECK(output.find("ran\n") != std::string::npos);
        CHECK(output.find("ran\n") == output.rfind("ran\n"));
    }
}

TEST_CASE_METHOD(RedisTest, "a command that outlasts its window gives the lock back and says so", "[integration][tool]")
{
    auto redis = server.client();
    ToolProcess tool(run_in({"--window", "1s"}, "sleep 1.2"), server.url());
    CHECK(tool.exit_code() == 0);
    CHECK_THAT(
        tool.output(), ContainsSubstring("tenure: warning: the command took 1.") &&
                           ContainsSubstring(", longer than the window of 1.0 s: the lock is released"));
    CHECK_FALSE(redis.get("nightly").has_value());
}

TEST_CASE_METHOD(
    RedisTest, "a window survives a store that is away when the command ends, for less than the ttl",
    "[integration][tool]")
{
    auto redis = server.client();
    ToolProcess tool(run_in(an_hour, "echo runs; sleep 0.3", "6s"), server.url());
    REQUIRE(tool.says("runs"));
    server.pause();
    // no line reports the end of the command: the program waits for the store's answer
    CHECK(tool.exit_code(2s) == -1);
    server.resume();
    CHECK(tool.exit_code() == 0);
    CHECK_THAT(tool.output(), !ContainsSubstring("not confirmed"));
    CHECK(redis.get("nightly").value_or("").starts_with("kept/w1"));
}

TEST_CASE_METHOD(
    RedisTest, "a signal ends the wait for a store that is away when the command has ended", "[integration][tool]")
{
    ToolProcess tool(run_in(an_hour, "echo runs; sleep 0.3", "60s"), server.url());
    REQUIRE(tool.says("runs"));
    server.pause();
    CHECK(tool.exit_code(2s) == -1);
    tool.process().signal(SIGTERM);
    CHECK(tool.exit_code() == 0);
    CHECK_THAT(tool.output(), ContainsSubstring("the store has not confirmed that it keeps nightly"));
    server.resume();
}

TEST_CASE("a window that the store cannot keep is refused before the command runs", "[integration][tool]")
{
    auto const check_refused = [](Words const& window, std::string const& store, std::string const& words) {
        ToolProcess tool(run_in(window, "echo ran"), store);
        CHECK(tool.exit_code() == 64);
        CHECK_THAT(tool.output(), ContainsSubstring(words) && !ContainsSubstring("ran\n"));
    };
    auto const redis = std::string("redis://127.0.0.1:1");
    check_refused({"--window", "25h"}, redis, "--window is 90000000 ms: this store allows 100 ms to 86400000 ms");
    check_refused({"--window", "99ms"}, redis, "--window is 99 ms: this store allows 100 ms");
    check_refused({"--window", "0"}, redis, "--window: a window has a length");
}
