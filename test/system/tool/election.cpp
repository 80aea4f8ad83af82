// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure elect` and `tenure leader`: one program leads and runs its command, and the others see which.
#include "system/support/tool_process.hpp"

#include "harness/redis_server.hpp"
#include "run/processes.hpp"

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

/// says its group and its token, and goes on until it is asked to end
constexpr auto lead = "echo group=$$ leads $TENURE_ELECTION under $TENURE_FENCING_TOKEN; exec sleep 600";

Words elect(std::string const& worker, Words const& command)
{
    Words words = {"elect", "scheduler", "--ttl", "1s", "--worker", worker, "--contact", worker + ":80", "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

Words elect(std::string const& worker, std::string const& script = lead)
{
    return elect(worker, Words{"sh", "-c", script});
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "of two contenders one runs its command, and the other one takes over when it is killed",
    "[integration][tool]")
{
    ToolProcess first(elect("w1"), server.url());
    REQUIRE(first.says("leads scheduler under "));
    ToolProcess second(elect("w2"), server.url());
    REQUIRE(second.says("campaigning on " + server.url() + "/0: w1 leads scheduler, contact w1:80"));
    CHECK_THAT(second.output(), !ContainsSubstring("under "));

    first.process().signal(SIGKILL);
    REQUIRE(second.says("leads scheduler under "));
    CHECK_FALSE(tenure::tool::has_live_member(static_cast<pid_t>(first.number_after("group="))));
    CHECK(second.number_after("under ") > first.number_after("under "));
}

TEST_CASE_METHOD(
    RedisTest, "a leader that is evicted ends its command, campaigns again and starts it again", "[integration][tool]")
{
    ToolProcess leader(
        elect("w1", "trap 'echo asked; exit 0' TERM; sleep 600 & echo group=$$; while :; do sleep 0.05; done"),
        server.url());
    REQUIRE(leader.says("group="));
    ToolProcess evict({"evict", "--lock", "scheduler", "--yes", "--worker", "admin"}, server.url());
    CHECK(evict.exit_code() == 0);
    REQUIRE(leader.says("asked"));
    REQUIRE(leader.says("scheduler was evicted by admin"));
    REQUIRE(leader.says("campaigning again for scheduler"));
    auto const group = [&](std::size_t at) { return static_cast<pid_t>(std::stol(leader.output().substr(at + 6))); };
    REQUIRE(eventually([&] { return leader.output().find("group=") != leader.output().rfind("group="); }, 15s));
    CHECK_FALSE(tenure::tool::has_live_member(group(leader.output().find("group="))));

    // the second command has a guard as well, which ends what it started
    auto const second = group(leader.output().rfind("group="));
    REQUIRE(tenure::tool::has_live_member(second));
    leader.process().signal(SIGKILL);
    CHECK(eventually([&] { return !tenure::tool::has_live_member(second); }));
}

TEST_CASE_METHOD(
    RedisTest, "a command that ends by itself ends its campaign, with its exit code", "[integration][tool]")
{
    auto redis = server.client();
    ToolProcess failing(elect("w1", "exit 7"), server.url());
    CHECK(failing.exit_code() == 7);
    ToolProcess missing(elect("w1", Words{"there-is-no-such-command"}), server.url());
    CHECK(missing.exit_code() == 127);
    CHECK_FALSE(redis.get("scheduler").has_value());
}

TEST_CASE_METHOD(
    RedisTest, "a contender that is asked to end while another one leads holds nothing", "[integration][tool]")
{
    ToolProcess leader(elect("w1"), server.url());
    REQUIRE(leader.says("leads scheduler under "));
    ToolProcess contender(elect("w2"), server.url());
    REQUIRE(contender.says("campaigning on "));
    contender.process().signal(SIGTERM);
    CHECK(contender.exit_code() == 128 + SIGTERM);
    CHECK_THAT(contender.output(), !ContainsSubstring("under "));
    ToolProcess still({"leader", "scheduler"}, server.url());
    CHECK(still.exit_code() == 0);
    CHECK(still.output() == "w1 leads scheduler, contact w1:80\n");
}

TEST_CASE_METHOD(
    RedisTest, "a leader that is stopped has lost its command by the time another one leads", "[integration][tool]")
{
    ToolProcess first(elect("w1", "trap '' TERM; echo group=$$; while :; do sleep 0.05; done"), server.url());
    REQUIRE(first.says("group="));
    auto const group = static_cast<pid_t>(first.number_after("group="));
    ToolProcess second(elect("w2"), server.url());
    REQUIRE(second.says("campaigning on "));
    first.process().pause();
    REQUIRE(second.says("leads scheduler under "));
    CHECK_FALSE(tenure::tool::has_live_member(group));
    // it finds its command gone, and stands again
    first.process().resume();
    CHECK(first.says("campaigning again for scheduler"));
}

TEST_CASE_METHOD(
    RedisTest, "the leader is shown with its contact, and an election without one has an exit code of its own",
    "[integration][tool]")
{
    ToolProcess none({"leader", "scheduler"}, server.url());
    CHECK(none.exit_code() == 1);
    CHECK(none.output() == "no program leads scheduler\n");
    ToolProcess leader(elect("w1"), server.url());
    REQUIRE(leader.says("leads scheduler under "));
    ToolProcess text({"leader", "scheduler"}, server.url());
    CHECK(text.exit_code() == 0);
    CHECK(text.output() == "w1 leads scheduler, contact w1:80\n");
    ToolProcess json({"leader", "scheduler", "--json"}, server.url());
    CHECK(json.exit_code() == 0);
    CHECK_THAT(
        json.output(), ContainsSubstring(R"("election":"scheduler")") &&
                           ContainsSubstring(R"("state":"present","leader":"w1","contact":"w1:80","age_ms":)"));
}

TEST_CASE_METHOD(
    RedisTest, "each change of the leader is one line as soon as it is seen, in a pipe as well", "[integration][tool]")
{
    ToolProcess watch({"leader", "scheduler", "--watch"}, server.url());
    REQUIRE(watch.says(" no program leads scheduler\n"));
    ToolProcess first(elect("w1"), server.url());
    REQUIRE(watch.says(" w1 leads scheduler, contact w1:80\n"));
    ToolProcess second(elect("w2"), server.url());
    REQUIRE(second.says("campaigning on "));
    first.process().signal(SIGKILL);
    REQUIRE(watch.says(" w2 leads scheduler, contact w2:80\n"));
    watch.process().signal(SIGINT);
    CHECK(watch.exit_code() == 0);
}

TEST_CASE_METHOD(
    RedisTest, "a store that stops answering leaves the leader stale, and unknown to those who come later",
    "[integration][tool]")
{
    ToolProcess watch({"leader", "scheduler", "--watch"}, server.url());
    REQUIRE(watch.says(" no program leads scheduler\n"));
    ToolProcess leader(elect("w1"), server.url());
    REQUIRE(watch.says(" w1 leads scheduler"));
    server.pause();
    REQUIRE(watch.says(" stale: w1 led scheduler, contact w1:80, as " + server.url()));
    ToolProcess late({"leader", "scheduler"}, server.url());
    CHECK(late.exit_code() == 69);
    CHECK_THAT(
        late.output(),
        ContainsSubstring("unknown: " + server.url()) && ContainsSubstring("check that it runs and can be reached"));
    watch.process().signal(SIGINT);
    CHECK(watch.exit_code() == 2);
    server.resume();
}
