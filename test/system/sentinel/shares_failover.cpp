// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The effects of a failover on waiters with places, where claims are delayed after it.
#include "harness/eventually.hpp"
#include "harness/sentinel_group.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>

using namespace tenure;
using namespace tenure::test;

TEST_CASE(
    "after a failover a waiter keeps its place, and is not granted before claims open", "[sentinel][delay][shares]")
{
    require_redis();
    SentinelGroup group;
    auto const url = group.url() + "?delay_after_failover=true";
    RunningStore holder{url};
    RunningStore waiter{url};
    LockConfig const config{.key = "job", .ttl = 6s, .fair = true};
    // claims are closed at a server that is new to the store, too
    auto lease = within(40s, Lock{holder.store(), config}.async_acquire({.wait = 30s}, as_future));
    REQUIRE_FALSE(std::get<0>(lease));
    auto waiting = Lock{waiter.store(), config}.async_acquire({.wait = 90s}, as_future);
    auto& master = group.master();
    auto const number_of_waiter = [](RedisServer& server) {
        auto const owner = server.client().call("HGET", "job", "~1").text;
        return owner.empty() ? 0 : std::stoull(server.client().call("HGET", "job", owner).text);
    };
    REQUIRE(eventually([&] { return number_of_waiter(master) != 0; }));
    auto const number = number_of_waiter(master);
    // both replicas have both places
    auto client = master.client();
    client.call("SET", "mark", "1", "PX", 60'000);
    REQUIRE(eventually([&] { return client.call("WAIT", 2, 100).integer == 2; }));

    master.kill();
    RedisServer* promoted = nullptr;
    REQUIRE(eventually([&] { return (promoted = group.agreed_master(&master)) != nullptr; }, 30s));
    auto const released = within(30s, std::get<1>(lease).async_release(as_future));
    REQUIRE_FALSE(std::get<0>(released));
    REQUIRE(std::get<1>(released) == ReleaseOutcome::released);
    // the key is free but for the waiter
    CHECK(waiting.wait_for(2s) == std::future_status::timeout);
    CHECK(number_of_waiter(*promoted) == number);

    auto [error, granted] = within(60s, std::move(waiting));
    REQUIRE_FALSE(error);
    CHECK(granted.fencing_token() == number);
}
