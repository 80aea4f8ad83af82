// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A holder that is stopped for longer than its lease lasts.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include <boost/asio/post.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <thread>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto paused_ttl = 700ms;

std::string content(std::string const& path)
{
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

} // namespace

TEST_CASE_METHOD(RedisTest, "a process stopped for twice the ttl sees at once that its lease is over", "[integration]")
{
    ScratchDirectory directory;
    RunningStore running{server.url()};
    auto const lock = running.lock("paused", paused_ttl);
    for (int round = 0; round < (long_form() ? 50 : 3); ++round) {
        auto const output = directory.file("output" + std::to_string(round));
        ChildProcess holder{Command{
            {test_program("paused_holder"), server.url(), "paused", std::to_string(paused_ttl.count())}, {}, output}};
        REQUIRE(eventually([&] { return content(output) == "held\n"; }));
        holder.pause();
        auto const stopped = std::chrono::steady_clock::now();

        // L1: its key is granted again within ttl and the slack of a waiter
        auto next = RunningStore::acquire(lock, {.wait = 10s});
        CHECK(std::chrono::steady_clock::now() - stopped < paused_ttl + 1s);
        std::this_thread::sleep_until(stopped + 2 * paused_ttl);

        // the question waits in the process; it comes before anything that its event loop may find out
        holder.signal(SIGUSR1);
        holder.resume();
        CHECK(holder.wait_for(20s).value_or(ExitStatus{}).code == 0);
        CHECK_THAT(content(output), ContainsSubstring("valid 0 cancelled 1 state lost release was_lost"));
        CHECK(next.valid());
        CHECK(server.client().get("paused") == next.owner());
        CHECK(RunningStore::release(next) == ReleaseOutcome::released);
    }
}

TEST_CASE_METHOD(RedisTest, "an event loop that is blocked for longer than the lease hides nothing", "[integration]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("blocked", paused_ttl));
    std::promise<void> unblock;
    std::promise<void> blocked;
    asio::post(running.executor(), [&] {
        blocked.set_value();
        unblock.get_future().wait();
    });
    soon(blocked.get_future());
    auto redis = server.client();
    REQUIRE(eventually([&] { return !redis.get("blocked"); }));
    // nothing of the library has run since
    CHECK_FALSE(lease.valid());
    CHECK(lease.token().cancelled());
    CHECK(lease.state() == LeaseState::lost);
    FiredAt fired{lease.token()};
    unblock.set_value();
    CHECK(fired.wait(10s));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::was_lost);
}
