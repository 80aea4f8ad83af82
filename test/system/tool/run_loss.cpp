// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` when the lease, the store or the program itself fails: the command must be gone while the lease holds.
#include "system/support/tool_process.hpp"
#include "system/tool/guard_process.hpp"

#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "run/processes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <string>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using tenure::tool::has_live_member;

namespace
{

/// says which group it is, leaves a process in the background, and ends when it is asked to
constexpr auto obedient = "sleep 600 & echo group=$$; sleep 600";
/// says when it is asked to end, and goes on
constexpr auto deaf = "trap 'echo asked' TERM; echo group=$$; while :; do sleep 600 & wait $!; done";

/** A command under the lock `job`, with a ttl of 2 s. */
class LeasedShell
{
public:
    LeasedShell(RedisServer const& server, std::string const& script)
        : tool({"run", "--lock", "job", "--ttl", "2s", "--notice", "600ms", "--", "sh", "-c", script}, server.url())
    {
        REQUIRE(tool.says("group="));
        group = static_cast<pid_t>(tool.number_after("group="));
        REQUIRE(group > 1);
        REQUIRE(has_live_member(group));
    }
    LeasedShell(LeasedShell const&) = delete;
    LeasedShell& operator=(LeasedShell const&) = delete;
    ~LeasedShell()
    {
        tool.process().kill();
        static_cast<void>(eventually([&] { return !has_live_member(group); }));
    }

    [[nodiscard]] bool gone() const { return !has_live_member(group); }

    ToolProcess tool;
    pid_t group = -1;
};

/** Waits for the end of the command, and checks that the key was its holder's until then. */
void check_gone_before_expiry(LeasedShell const& shell, RedisClient& redis, std::string const& owner)
{
    bool held = true;
    REQUIRE(eventually([&] {
        // asked in this order: a key that is seen after the command was seen alive was there while it lived
        auto const gone = shell.gone();
        held = held && (gone || redis.get("job") == owner);
        return gone;
    }));
    CHECK(held);
}

} // namespace

TEST_CASE("a command whose key another client took is ended, and that client keeps the key", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    LeasedShell shell(server, obedient);
    static_cast<void>(redis.call("SET", "job", "thief", "PX", 600'000));
    CHECK(shell.tool.exit_code() == 79);
    CHECK(shell.gone());
    CHECK(redis.get("job") == "thief");
    CHECK(redis.pttl("job") > 500'000);
    auto const output = shell.tool.output();
    auto const told = output.find("lease on job is lost");
    REQUIRE(told != std::string::npos);
    CHECK_THAT(
        output,
        ContainsSubstring("the lease on job is lost") && ContainsSubstring("job was overwritten by other software"));
    // once: the store's log is not repeated
    CHECK(output.find("lease on job is lost", told + 1) == std::string::npos);
}

TEST_CASE(
    "a command that does not obey is killed before its key expires, when the store is away", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    LeasedShell shell(server, deaf);
    auto const expires = redis.pexpiretime("job");
    server.pause();
    CHECK(shell.tool.says("asked"));
    REQUIRE(eventually([&] { return shell.gone(); }));
    auto const now =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
    // a renewal may have come between the look at the key and the pause: then it expires later than this
    CHECK(now.count() < expires + 700);
    CHECK(shell.tool.exit_code() == 79);
    server.resume();
}

TEST_CASE("a command whose keeper is killed is ended at once, with what it started", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    LeasedShell shell(server, obedient);
    auto const owner = redis.get("job").value();
    shell.tool.process().signal(SIGKILL);
    check_gone_before_expiry(shell, redis, owner);
    // it was not released: it expires
    CHECK(eventually([&] { return !redis.get("job").has_value(); }, 3s));
}

TEST_CASE("a command whose keeper is stopped is ended before its key expires", "[integration][tool]")
{
    require_redis();
    auto const script = GENERATE(obedient, deaf);
    RedisServer server;
    auto redis = server.client();
    LeasedShell shell(server, script);
    auto const owner = redis.get("job").value();
    shell.tool.process().pause();
    check_gone_before_expiry(shell, redis, owner);
    REQUIRE(eventually([&] { return !redis.get("job").has_value(); }, 5s));
    shell.tool.process().resume();
    CHECK(shell.tool.exit_code() == 79);
}

TEST_CASE("a guard that is killed is replaced, and the new one does its duty", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    LeasedShell shell(server, obedient);
    auto const keeper = shell.tool.process().pid();
    auto const first = guard_of(keeper);
    REQUIRE(first > 1);
    ::kill(first, GENERATE(SIGKILL, SIGSTOP));
    pid_t second = -1;
    REQUIRE(eventually([&] {
        second = guard_of(keeper);
        return second > 1 && second != first;
    }));
    CHECK_FALSE(shell.gone());
    auto const owner = redis.get("job").value();
    shell.tool.process().signal(SIGKILL);
    check_gone_before_expiry(shell, redis, owner);
}

TEST_CASE("a program that ends leaves no guard behind", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    LeasedShell shell(server, obedient);
    auto const guard = guard_of(shell.tool.process().pid());
    REQUIRE(guard > 1);
    shell.tool.process().signal(SIGTERM);
    CHECK(shell.tool.exit_code() == 128 + SIGTERM);
    CHECK(::kill(guard, 0) != 0);
}
