// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Redisson itself holds a lock that this library waits for and then acquires.
#include "harness/child_process.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tenure::test
{

namespace
{

using Catch::Matchers::ContainsSubstring;

std::string text_of(std::string const& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

/** A program that takes and releases one lock of Redisson on command. */
class RedissonHolder
{
public:
    /// how long Redisson's lock lives without a renewal; its watchdog renews three times as often
    static constexpr std::chrono::milliseconds watchdog = 900ms;

    RedissonHolder(RedisServer const& server, std::string const& name)
        : client_(server.client())
        , process_(Command{
              {"java", "-cp", classpath(), source_path("test/system/redis/redisson/RedissonHolder.java"),
               std::to_string(server.port()), name, std::to_string(watchdog.count())},
              {},
              directory_.file("output")})
    {
        client_.reply_limit(60s);
    }

    /** Does what the command says; the answer is what came of it. */
    std::string notify(std::string const& command)
    {
        client_.call("RPUSH", "commands", command);
        auto const answer = client_.call("BLPOP", "answers", 50);
        if (answer.is_null())
            throw std::runtime_error(
                "the program with Redisson does not answer: " + text_of(directory_.file("output")));
        return answer.elements.at(1).text;
    }

private:
    /** Where Maven has put Redisson and what it needs; skips the test if it cannot fetch them. */
    [[nodiscard]] std::string classpath() const
    {
        auto const list = directory_.file("classpath");
        auto const log = directory_.file("maven");
        ChildProcess maven{Command{
            {"mvn", "-q", "-B", "-f", source_path("test/system/redis/redisson/pom.xml"), "dependency:build-classpath",
             "-Dmdep.outputFile=" + list},
            {},
            log}};
        if (maven.wait_for(120s) != ExitStatus{0, 0})
            SKIP("Maven cannot fetch Redisson: " << text_of(log));
        return text_of(list);
    }

    ScratchDirectory directory_;
    RedisClient client_;
    ChildProcess process_;
};

} // namespace

TEST_CASE("a lock that Redisson holds is waited for and then acquired, a hundred times", "[redis]")
{
    require_redis();
    for (auto const* const program : {"mvn", "javac"})
        if (find_program(program).empty())
            SKIP("no " << program << " to run Redisson with: packages maven and default-jdk-headless");
    RedisServer server;
    auto redis = server.client();
    RedissonHolder redisson(server, "job");
    RunningStore running{server.url()};
    auto const lock = running.lock("job", 5s);
    auto slowest = 0ms;
    for (int round = 0; round < 100; ++round) {
        REQUIRE(redisson.notify("lock") == "locked");
        CHECK(redis.call("TYPE", "job").text == "hash");
        auto waiting = lock.async_acquire({.wait = 30s}, as_future);
        // every tenth time for longer than the lock would live without Redisson's renewals
        auto const held = round % 10 == 0 ? 2 * RedissonHolder::watchdog : 50ms;
        REQUIRE(waiting.wait_for(held) == std::future_status::timeout);
        auto const unlock = std::chrono::steady_clock::now();
        REQUIRE(redisson.notify("unlock") == "unlocked");
        auto [error, lease] = soon(std::move(waiting));
        REQUIRE_FALSE(error);
        slowest = std::max(
            slowest, std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - unlock));
        CHECK(redis.call("TYPE", "job").text == "string");
        if (round % 10 == 0)
            CHECK_THAT(redisson.notify("try"), ContainsSubstring("refused") && ContainsSubstring("WRONGTYPE"));
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    }
    WARN("acquired at most " << slowest.count() << " ms after Redisson was told to unlock");
    CHECK(slowest < 3s);
    CHECK(running.store().statistics().acquired == 100);
}

} // namespace tenure::test
