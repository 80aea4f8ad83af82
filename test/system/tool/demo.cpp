// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure demo`, in process and on a real server: it judges itself, and its verdict is looked at here.
#include "system/support/tool_process.hpp"

#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <sstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

using Words = std::vector<std::string>;
Words const short_demo = {"demo", "--workers", "4", "--slots", "2", "--ttl", "1s", "--seconds", "4"};

Words short_demo_on(std::string const& url)
{
    auto words = short_demo;
    words.insert(words.end(), {"--store", url});
    return words;
}

void check_story(std::string const& output)
{
    INFO(output);
    CHECK_THAT(output, ContainsSubstring("worker-4 was killed while it held slot"));
    CHECK_THAT(output, ContainsSubstring("after the kill"));
    CHECK_THAT(output, ContainsSubstring("was evicted from slot"));
    CHECK_THAT(output, ContainsSubstring("after its eviction from slot"));
    CHECK_THAT(output, ContainsSubstring("No slot was ever held by two workers"));
    CHECK_THAT(output, !ContainsSubstring("FAILED"));
}

/** Only processes can be paused. */
void check_pause(std::string const& output)
{
    CHECK_THAT(output, ContainsSubstring("was paused (SIGSTOP) while it held slot"));
    CHECK_THAT(output, ContainsSubstring("after the pause began"));
    CHECK_THAT(output, ContainsSubstring("after it woke up: its lease was over"));
    CHECK_THAT(output, ContainsSubstring("processes of their own"));
}

} // namespace

TEST_CASE("the demo runs without a server, whatever TENURE_STORE names, and ends well", "[integration][tool][demo]")
{
    ToolProcess tool(short_demo, "redis://127.0.0.1:1");
    CHECK(tool.exit_code() == 0);
    check_story(tool.output());
    CHECK_THAT(tool.output(), ContainsSubstring("coroutines of this process"));
}

TEST_CASE("the demo runs with processes of this machine, without a server", "[integration][tool][demo][file]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    ToolProcess tool(short_demo_on("file://" + directory.path()));
    CHECK(tool.exit_code() == 0);
    check_story(tool.output());
    check_pause(tool.output());
    CHECK_THAT(tool.output(), ContainsSubstring("its process held the key, which is free now"));
}

TEST_CASE("into a pipe the demo prints events, and no pictures", "[integration][tool][demo]")
{
    ToolProcess tool({"demo", "--seconds", "3", "--ttl", "1s"});
    CHECK(tool.exit_code() == 0);
    auto const output = tool.output();
    INFO(output);
    CHECK_THAT(output, ContainsSubstring("slot 0 is held by worker-") && ContainsSubstring(", fencing token "));
    CHECK_THAT(output, !ContainsSubstring("SLOT  HOLDER") && !ContainsSubstring("\x1b"));
    std::istringstream lines(output.substr(0, output.find("\n\n")));
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        // the time, and what happened then
        CHECK((line.size() > 8 && line.substr(6, 2) == "  " && line[5] == 's'));
    }
}

TEST_CASE("the demo runs with processes on a server, ends well and leaves no key held", "[integration][tool][demo]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool(short_demo_on(server.url()));
    CHECK(tool.exit_code() == 0);
    check_story(tool.output());
    check_pause(tool.output());
    // the counter of fencing tokens stays, so that they go on increasing
    CHECK(eventually([&] {
        for (auto const& key : redis.keys("*"))
            if (key != "tenure:fence")
                return false;
        return true;
    }));
}

TEST_CASE("a demo that is interrupted gives back what its workers hold", "[integration][tool][demo]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool({"demo", "--ttl", "60s", "--seconds", "600", "--pool", "demo:", "--store", server.url()});
    REQUIRE(eventually([&] { return redis.get("demo:0").has_value(); }));
    tool.process().signal(SIGINT);
    CHECK(tool.exit_code() == 128 + SIGINT);
    for (auto const* key : {"demo:0", "demo:1", "demo:2"})
        CHECK_FALSE(redis.get(key).has_value());
}

TEST_CASE("a demo on a store that cannot be reached fails with words", "[integration][tool][demo]")
{
    ToolProcess tool(
        {"demo", "--ttl", "1s", "--seconds", "2", "--store", "redis://127.0.0.1:" + std::to_string(free_port())});
    CHECK(tool.exit_code() == 69);
    CHECK_THAT(tool.output(), ContainsSubstring("no demo: ") && !ContainsSubstring("FAILED"));
}
