// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The message to a waiter with a place: a grant, a hint where scripts may not publish, and none where nothing may.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/loopback.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "system/redis/minimal_permissions.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <tuple>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** Two stores: one holds a fair lock, one waits behind it and would ask only every 20 s. */
struct Pair {
    Pair(RedisServer& running, std::string const& url, std::chrono::milliseconds max_poll_interval)
        : server(running)
        , holder(url)
        , waiter(url)
        , config{.key = "P-job", .ttl = 60s, .lease = {.max_poll_interval = max_poll_interval}, .fair = true}
        , lease(RunningStore::acquire(Lock{holder.store(), config}))
        , waiting(Lock{waiter.store(), config}.async_acquire({.wait = 50s}, as_future))
    {
        REQUIRE(eventually([&] { return client.call("HLEN", "P-job").integer == 5; }));
        // from now on the server knows the script of releases
        auto other = config;
        other.key = "P-other";
        auto known = RunningStore::acquire(Lock{holder.store(), other});
        static_cast<void>(RunningStore::release(known));
    }
    void wait_for_subscription()
    {
        REQUIRE(
            eventually([&] { return client.call("PUBSUB", "NUMSUB", "{P-job}:free").elements.at(1).integer == 1; }));
    }
    /** Releases; the time until the waiter is granted. */
    std::chrono::milliseconds hand_over()
    {
        client.call("CONFIG", "RESETSTAT");
        auto const begin = Clock::now();
        static_cast<void>(RunningStore::release(lease));
        auto [error, granted] = within(30s, std::move(waiting));
        auto const end = Clock::now();
        REQUIRE_FALSE(error);
        // it is not released yet
        lease = std::move(granted);
        return std::chrono::duration_cast<std::chrono::milliseconds>(end - begin);
    }
    /** How often the server has run the command since the release began. */
    [[nodiscard]] std::int64_t calls(std::string const& command)
    {
        auto const line = client.info("cmdstat_" + command);
        return line.empty() ? 0 : std::stoll(line.substr(line.find('=') + 1));
    }
    [[nodiscard]] std::int64_t scripts() { return calls("eval") + calls("evalsha"); }

    RedisServer& server;
    RedisClient client = server.client();
    RunningStore holder;
    RunningStore waiter;
    LockConfig config;
    Lease lease;
    std::future<std::tuple<error_code, Lease>> waiting;
};

} // namespace

TEST_CASE("the message to a waiter is its grant: it asks for nothing more", "[redis][shares]")
{
    require_redis();
    RedisServer server;
    Pair pair(server, server.url(), 20s);
    pair.wait_for_subscription();
    CHECK(pair.hand_over() < 5s);
    // the release alone
    CHECK(pair.scripts() == 1);
}

TEST_CASE("where scripts may not publish, the message is a hint, and the waiter asks", "[redis][shares]")
{
    require_redis();
    RedisServer server;
    auto const port = free_port();
    ChildProcess const proxy{
        {{"python3", source_path("test/conformance/strict_proxy.py"), std::to_string(port),
          std::to_string(server.port()), "publish"}}};
    auto const answers = [&] {
        try {
            return RedisClient(port).call("PING").text == "PONG";
        } catch (std::exception const&) {
            return false;
        }
    };
    REQUIRE(eventually(answers, 10s));
    Pair pair(server, "redis://127.0.0.1:" + std::to_string(port), 20s);
    pair.wait_for_subscription();
    CHECK(pair.hand_over() < 5s);
    // at least the release and the claim
    CHECK(pair.scripts() >= 2);
    CHECK(pair.calls("publish") >= 1);
}

TEST_CASE("where nothing may publish, waiters poll", "[redis][shares][acl]")
{
    require_redis();
    RedisServer server{
        {.config = {
             std::string(minimal_user) + " +hget +hmget +hset +hdel +hgetall +subscribe " +
             "+unsubscribe &{P*}:free ~{P*}:watched ~{P*}:waiting"}}};
    Pair pair(server, "redis://worker:secret@127.0.0.1:" + std::to_string(server.port()), 500ms);
    pair.wait_for_subscription();
    CHECK(pair.hand_over() < 10s);
    CHECK(pair.scripts() >= 2);
    CHECK(pair.calls("publish") == 0);
}
