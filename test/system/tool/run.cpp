// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` from a shell's point of view: what the command gets, and what it leaves.
#include "system/support/tool_process.hpp"

#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "run/processes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::string>;

namespace
{

Words run_with(Words const& options, Words const& command)
{
    Words result = {"run"};
    result.insert(result.end(), options.begin(), options.end());
    result.push_back("--");
    result.insert(result.end(), command.begin(), command.end());
    return result;
}

Words shell(std::string const& script)
{
    return {"sh", "-c", script};
}

Words const pool_of_two = {"--pool", "job:", "--size", "2", "--ttl", "2s"};

} // namespace

TEST_CASE("a command runs under a slot, gets its number, and its exit code is returned", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool(
        run_with(pool_of_two, shell("echo slot=$TENURE_SLOT key=$TENURE_KEY token=$TENURE_FENCING_TOKEN; exit 7")),
        server.url());
    CHECK(tool.exit_code() == 7);
    CHECK_THAT(tool.output(), ContainsSubstring("slot=0 key=job:0 token="));
    CHECK(tool.number_after("token=") > 0);
    CHECK_FALSE(redis.get("job:0").has_value());
}

TEST_CASE("a lock has a key and no slot", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ToolProcess tool(
        run_with({"--lock", "nightly"}, shell("echo key=$TENURE_KEY slot=${TENURE_SLOT-none}")), server.url());
    CHECK(tool.exit_code() == 0);
    CHECK_THAT(tool.output(), ContainsSubstring("key=nightly slot=none"));
}

TEST_CASE("commands that run at the same time hold different slots, and one more gets none", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto const script = shell("echo got=$TENURE_SLOT; exec sleep 600");
    ToolProcess first(run_with(pool_of_two, script), server.url());
    REQUIRE(first.says("got="));
    ToolProcess second(run_with(pool_of_two, script), server.url());
    REQUIRE(second.says("got="));
    CHECK(first.number_after("got=") + second.number_after("got=") == 1);

    auto impatient = pool_of_two;
    impatient.insert(impatient.end(), {"--wait", "0"});
    ToolProcess third(run_with(impatient, script), server.url());
    CHECK(third.exit_code() == 75);
    CHECK_THAT(third.output(), !ContainsSubstring("got="));

    ToolProcess waiting(run_with(pool_of_two, script), server.url());
    first.process().signal(SIGTERM);
    CHECK(first.exit_code() == 128 + SIGTERM);
    REQUIRE(waiting.says("got="));
    CHECK(waiting.number_after("got=") == first.number_after("got="));
}

TEST_CASE(
    "a signal to the program is for the command to handle, and the lease is kept meanwhile", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool(
        run_with(
            pool_of_two, shell("trap 'echo usr1' USR1; trap 'echo term; sleep 3; exit 5' TERM; echo ready; "
                               "while :; do sleep 0.05; done")),
        server.url());
    REQUIRE(tool.says("ready"));
    tool.process().signal(SIGUSR1);
    REQUIRE(tool.says("usr1"));
    tool.process().signal(SIGTERM);
    REQUIRE(tool.says("term"));
    // the command takes longer to end than the ttl
    auto const later = std::chrono::steady_clock::now() + 2500ms;
    CHECK_FALSE(eventually(
        [&] { return !redis.get("job:0").has_value(); },
        std::chrono::duration_cast<std::chrono::milliseconds>(later - std::chrono::steady_clock::now())));
    CHECK(tool.exit_code() == 5);
    CHECK_FALSE(redis.get("job:0").has_value());
}

TEST_CASE("a slot is released only when all processes of the command's group have ended", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool(run_with(pool_of_two, shell("sleep 600 >/dev/null 2>&1 & echo group=$$; exit 3")), server.url());
    CHECK(tool.exit_code() == 3);
    auto const group = static_cast<pid_t>(tool.number_after("group="));
    REQUIRE(group > 1);
    CHECK_FALSE(tenure::tool::has_live_member(group));
    CHECK_FALSE(redis.get("job:0").has_value());
}

TEST_CASE("a program that is asked to end while it waits holds nothing and runs nothing", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    static_cast<void>(redis.call("SET", "nightly", "somebody-else", "PX", 600'000));
    ToolProcess tool(run_with({"--lock", "nightly", "-v"}, shell("echo ran")), server.url());
    // it waits as soon as it has subscribed to the lock's channel
    REQUIRE(eventually([&] { return redis.info("pubsub_channels") != "0"; }));
    tool.process().signal(SIGTERM);
    CHECK(tool.exit_code() == 128 + SIGTERM);
    CHECK_THAT(tool.output(), !ContainsSubstring("ran"));
    CHECK(redis.get("nightly") == "somebody-else");
}

TEST_CASE("a waiting run reports the holder after a second, and a remedy at the end", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    ToolProcess holder(
        run_with({"--lock", "nightly", "--worker", "w1"}, shell("echo holds; exec sleep 600")), server.url());
    REQUIRE(holder.says("holds"));
    ToolProcess tool(run_with({"--lock", "nightly", "--wait", "1500ms"}, shell("echo ran")), server.url());
    CHECK(tool.exit_code() == 75);
    CHECK_THAT(
        tool.output(), ContainsSubstring("tenure: waiting for the lock nightly on " + server.url()) &&
                           ContainsSubstring(": held by w1 for ") && ContainsSubstring("; giving up in 500 ms\n"));
    CHECK_THAT(
        tool.output(), ContainsSubstring("no lease on nightly: ") && ContainsSubstring("not released within 1.5 s") &&
                           ContainsSubstring("wait longer with --wait"));
    CHECK_THAT(tool.output(), !ContainsSubstring("pool") && !ContainsSubstring("--size") && !ContainsSubstring("::"));
}

TEST_CASE(
    "a run that finds a pool full at once names the holders, and does not say that it waits", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto const script = shell("echo holds; exec sleep 600");
    ToolProcess first(run_with({"--size", "2", "--worker", "w1"}, script), server.url());
    REQUIRE(first.says("holds"));
    ToolProcess second(run_with({"--size", "2", "--worker", "w2"}, script), server.url());
    REQUIRE(second.says("holds"));
    ToolProcess tool(run_with({"--size", "2", "--wait", "0"}, shell("echo ran")), server.url());
    CHECK(tool.exit_code() == 75);
    CHECK_THAT(
        tool.output(), ContainsSubstring("2 of 2 held: slot 0 by w1 for ") && ContainsSubstring("slot 1 by w2 for ") &&
                           ContainsSubstring("with --wait") && ContainsSubstring("with --size"));
    CHECK_THAT(tool.output(), !ContainsSubstring("waiting for"));
}

TEST_CASE("a command that cannot be started gives back its slot at once", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess missing(run_with(pool_of_two, {"there-is-no-such-command"}), server.url());
    CHECK(missing.exit_code() == 127);
    CHECK_THAT(missing.output(), ContainsSubstring("cannot run 'there-is-no-such-command'"));
    ToolProcess directory(run_with(pool_of_two, {"/"}), server.url());
    CHECK(directory.exit_code() == 126);
    CHECK_FALSE(redis.get("job:0").has_value());
}

TEST_CASE("a store that cannot be reached is an error of its own", "[integration][tool]")
{
    ToolProcess tool(
        run_with({"--lock", "nightly", "--wait", "300ms"}, shell("echo ran")),
        "redis://127.0.0.1:" + std::to_string(free_port()));
    CHECK(tool.exit_code() == 69);
    CHECK_THAT(tool.output(), ContainsSubstring("no lease on nightly"));
    CHECK_THAT(tool.output(), !ContainsSubstring("ran"));
}

TEST_CASE("a command needs no dashes in front of it, and keeps its own options and dashes", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    for (auto const& words : std::vector<Words>{
             {"run", "--size", "2", "sh", "-c", "echo got $0 $*", "a", "--help", "-v"},
             {"run", "--lock", "x", "sh", "-c", "echo got $0 $*", "a", "--help", "-v"},
             {"run", "--size", "2", "sh", "-c", "echo got $0 $*", "a", "--", "--help", "-v"},
             {"run", "--size", "2", "--", "sh", "-c", "echo got $0 $*", "a", "--", "--help", "-v"}}) {
        ToolProcess tool(words, server.url());
        CHECK(tool.exit_code() == 0);
        bool const dashes = std::ranges::count(words, "a") == 1 && *(std::ranges::find(words, "a") + 1) == "--";
        CHECK_THAT(tool.output(), ContainsSubstring(dashes ? "got a -- --help -v" : "got a --help -v"));
    }
}

TEST_CASE("a mistyped command or option is named, with a suggestion", "[integration][tool]")
{
    ToolProcess command({"stauts", "--size", "2"});
    CHECK(command.exit_code() == 64);
    CHECK_THAT(command.output(), ContainsSubstring("there is no command 'stauts'; did you mean 'status'?"));
    ToolProcess option({"run", "--stor=redis://:secret@host", "true"}, "memory://");
    CHECK(option.exit_code() == 64);
    CHECK_THAT(
        option.output(),
        ContainsSubstring("there is no option --stor; did you mean --store?") && !ContainsSubstring("secret"));
    ToolProcess other({"status", "--size", "2", "--stor=redis://:secret@host"});
    CHECK(other.exit_code() == 64);
    CHECK_THAT(
        other.output(), ContainsSubstring("no option --stor; did you mean --store? (tenure status --help") &&
                            !ContainsSubstring("secret"));
}

TEST_CASE("a mistake on the command line is reported before any connection", "[integration][tool]")
{
    for (auto const& words : std::vector<Words>{
             {"run", "--size", "2"},                                               // no command
             run_with({}, {"true"}),                                               // neither pool nor lock
             run_with({"--size", "0"}, {"true"}),                                  // no slots
             run_with({"--size", "2", "--lock", "x"}, {"true"}),                   // both
             run_with({"--size", "2", "--ttl", "5"}, {"true"}),                    // no unit
             run_with({"--size", "2", "--ttl", "3s", "--notice", "2s"}, {"true"}), // more than a third
             run_with({"--size", "2", "--wait", "soon"}, {"true"}),                // no duration
             run_with({"--lock", "x", "--store", "gopher://host"}, {"true"}),      // no such store
             {"run", "--sizee", "2", "true"},                                      // no such option
             {"no-such-command"},
             {},
         }) {
        ToolProcess tool(words, "redis://127.0.0.1:1");
        CHECK(tool.exit_code() == 64);
        CHECK_FALSE(tool.output().empty());
        // options are named, and no field of the C++ interface
        CHECK_THAT(tool.output(), !ContainsSubstring("::"));
    }
}

TEST_CASE("help and version are printed without a store", "[integration][tool]")
{
    for (auto const* command : {"run", "elect", "leader", "status", "doctor", "evict", "demo"}) {
        ToolProcess help({command, "--help"});
        CHECK(help.exit_code() == 0);
        CHECK_THAT(help.output(), ContainsSubstring("Exit codes"));
        CHECK_THAT(help.output(), ContainsSubstring(std::string("Usage: tenure ") + command));
    }
    ToolProcess help({"--help"});
    CHECK(help.exit_code() == 0);
    CHECK_THAT(help.output(), !ContainsSubstring("demo-worker"));
    ToolProcess version({"--version"});
    CHECK(version.exit_code() == 0);
    CHECK_THAT(version.output(), ContainsSubstring("."));
}

TEST_CASE(
    "a slot rests after its command for as long as is asked, and its holder's note is shown", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    Words const options = {"--pool", "id:",           "--size", "1",      "--ttl",
                           "2s",     "--reuse-after", "30s",    "--note", "call 555-0123"};
    ToolProcess first(run_with(options, shell("echo working; exec sleep 30")), server.url());
    REQUIRE(first.says("working"));
    ToolProcess holder({"status", "--pool", "id:", "--size", "1"}, server.url());
    CHECK(holder.exit_code() == 0);
    CHECK_THAT(holder.output(), ContainsSubstring("call 555-0123"));
    first.process().signal(SIGTERM);
    CHECK(first.exit_code() == 128 + SIGTERM);
    ToolProcess status({"status", "--pool", "id:", "--size", "1"}, server.url());
    CHECK(status.exit_code() == 0);
    CHECK_THAT(status.output(), ContainsSubstring("resting until"));
    ToolProcess second(run_with({"--pool", "id:", "--size", "1", "--wait", "0"}, shell("true")), server.url());
    CHECK(second.exit_code() == 75);
    CHECK_FALSE(redis.get("id:0").value_or("").empty());
}
