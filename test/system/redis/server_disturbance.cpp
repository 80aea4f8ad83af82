// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A server whose scripts and connections vanish under load (PEERS: NOSCRIPT, renewal stops after a reconnect).
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

struct Work {
    std::atomic<bool> ended = false;
    std::atomic<int> grants = 0;
    std::atomic<int> lost = 0;
};

/** Takes a slot, holds it for a while, gives it back, until the work ends. */
asio::awaitable<void> take_turns(SlotPool pool, Work& work, std::uint64_t seed)
{
    std::mt19937_64 random{seed};
    asio::steady_timer timer{co_await asio::this_coro::executor};
    while (!work.ended) {
        auto slot = co_await pool.async_acquire(asio::use_awaitable);
        ++work.grants;
        timer.expires_after(std::chrono::milliseconds{random() % 20});
        co_await timer.async_wait(asio::use_awaitable);
        work.lost += slot.token().cancelled() ? 1 : 0;
        co_await slot.async_release(asio::use_awaitable);
    }
}

} // namespace

TEST_CASE_METHOD(RedisTest, "flushed scripts and killed connections cost nothing but time", "[integration]")
{
    auto redis = server.client();
    Work work;
    RunningStore running{server.url()};
    // one that is held all the time, renewed often
    auto held = RunningStore::acquire(running.lock("held", 1s));
    std::vector<std::future<void>> workers;
    for (std::uint64_t i = 0; i < 12; ++i)
        workers.push_back(
            asio::co_spawn(running.executor(), take_turns(running.pool(8, 2s), work, i), asio::use_future));

    auto const end = std::chrono::steady_clock::now() + soak_time(6s);
    int kills = 0;
    for (int step = 0; std::chrono::steady_clock::now() < end; ++step) {
        if (step % 3 == 0)
            redis.call("SCRIPT", "FLUSH");
        if (step % 5 == 0) {
            kills += static_cast<int>(redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").integer);
            redis.call("CLIENT", "KILL", "TYPE", "pubsub");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{30 + step * 7 % 90});
    }
    work.ended = true;
    for (auto& worker : workers)
        CHECK_NOTHROW(soon(std::move(worker)));
    WARN(work.grants << " grants through " << kills << " killed connections");
    INFO(running.log());
    CHECK(kills > 5);
    CHECK(work.grants > 100);
    CHECK(work.lost == 0);
    CHECK(held.valid());
    CHECK_FALSE(held.token().cancelled());
    auto const statistics = running.store().statistics();
    CHECK(statistics.lost.total() == 0);
    CHECK(RunningStore::release(held) == ReleaseOutcome::released);
    CHECK(eventually([&] { return redis.keys("thread_id_lock:*").empty(); }, 4s));
}

TEST_CASE_METHOD(RunningStoreTest, "every operation works when the server has forgotten the scripts", "[integration]")
{
    auto const flush = [&] { redis.call("SCRIPT", "FLUSH"); };
    auto const pool = running.pool(2, 1s);
    flush();
    auto slot = RunningStore::acquire(pool);
    flush();
    CHECK_FALSE(std::get<0>(soon(slot.async_renew(as_future))));
    flush();
    auto const states = soon(running.store().async_inspect(pool.range(), asio::use_future));
    CHECK(states.at(0).kind == KeyState::Kind::held);
    flush();
    auto const frees =
        soon(running.store().async_evict({.range = pool.range(), .owner = slot.owner()}, "test", asio::use_future));
    CHECK(frees <= 1s);
    CHECK(redis.get("thread_id_lock:0") == "evicted/test");
    flush();
    CHECK(RunningStore::release(slot) == ReleaseOutcome::was_lost);
    auto next = RunningStore::acquire(pool);
    CHECK(next.id() == 1);
    flush();
    CHECK(RunningStore::release(next) == ReleaseOutcome::released);
}
