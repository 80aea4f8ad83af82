// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A lease that is left to expire on purpose, on a real server: seen by others, by the tool, and after its store is
// gone.
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <system_error>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

/// servers count whole milliseconds
constexpr auto detachment_rounding = 5ms;

error_code detach(Lease& lease, std::chrono::milliseconds remaining)
{
    return std::get<0>(soon(lease.async_detach(remaining, as_future)));
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a detached key outlives its ttl and its store, and a waiter gets it when its time is over",
    "[redis][detach]")
{
    RunningStore const waiter{server.url()};
    auto const lock = waiter.lock("nightly", 500ms);
    auto const before = Clock::now();
    std::string owner;
    {
        RunningStore const worker{server.url()};
        auto lease = RunningStore::acquire(worker.lock("nightly", 500ms));
        owner = lease.owner();
        CHECK(detach(lease, 2s) == error_code());
        CHECK(lease.token().reason() == CancelReason::detached);
        CHECK(worker.store().statistics().detached == 1);
    }
    auto const gone = Clock::now();
    auto client = server.client();
    CHECK(client.get("nightly") == "kept/" + owner);
    auto const states = soon(lock.async_inspect(asio::use_future));
    CHECK(states.at(0).kind == KeyState::Kind::kept);
    CHECK(states.at(0).owner == owner);
    auto lease = RunningStore::acquire(lock, {.wait = 30s});
    auto const granted = Clock::now();
    CHECK(granted - before >= 2s - detachment_rounding);
    CHECK(granted - gone <= 3500ms);
    RunningStore::release(lease);
}

TEST_CASE_METHOD(
    RedisTest, "a detached key that frees sooner than its ttl is noticed within the longest pause", "[redis][detach]")
{
    RunningStore const worker{server.url()};
    RunningStore const waiter{server.url()};
    auto held = RunningStore::acquire(worker.lock("nightly", 60s));
    auto waiting = waiter.lock("nightly", 5s).async_acquire({.wait = 60s}, asio::use_future);
    REQUIRE(eventually([&] { return waiter.store().statistics().waiting == 1; }));
    auto const before = Clock::now();
    CHECK(detach(held, 500ms) == error_code());
    auto next = soon(std::move(waiting));
    CHECK(Clock::now() - before >= 500ms - detachment_rounding);
    RunningStore::release(next);
}

TEST_CASE_METHOD(
    RedisTest, "a detachment without a time keeps the ttl that the key has on the server", "[redis][detach]")
{
    RunningStore const worker{server.url()};
    auto lease = RunningStore::acquire(worker.lock("nightly", 20s));
    auto client = server.client();
    auto const before = client.pttl("nightly");
    CHECK(std::get<0>(soon(lease.async_detach(as_future))) == error_code());
    CHECK(client.get("nightly") == "kept/" + lease.owner());
    CHECK(client.pttl("nightly") <= before);
    CHECK(client.pttl("nightly") > 10'000);
}

TEST_CASE_METHOD(
    RedisTest, "a detachment that finds another owner under the key says that the lease was lost", "[redis][detach]")
{
    RunningStore const worker{server.url()};
    auto lease = RunningStore::acquire(worker.lock("nightly", 20s));
    auto client = server.client();
    client.call("SET", "nightly", "a thief", "PX", 20000);
    CHECK(detach(lease, 5s) == make_error_code(errc::lease_lost));
    CHECK(client.get("nightly") == "a thief");
}

TEST_CASE_METHOD(
    RedisTest, "a server that stands still leaves a detachment unconfirmed, and does it when it goes on",
    "[redis][detach]")
{
    RunningStore const worker{server.url()};
    auto lease = RunningStore::acquire(worker.lock("nightly", 20s));
    server.pause();
    CHECK(detach(lease, 60s) == make_error_code(errc::store_unavailable));
    server.resume();
    REQUIRE(eventually([&] { return worker.store().statistics().detached == 1; }));
    auto client = server.client();
    CHECK(client.get("nightly") == "kept/" + lease.owner());
    CHECK(client.pttl("nightly") > 50'000);
}
