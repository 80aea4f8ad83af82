// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Acquisitions that are cancelled at every step leave nothing (S9).
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

struct Outcomes {
    int granted = 0;
    int aborted = 0;
};

/** Starts an acquisition and cancels it after `step`; a lease that it got all the same is released. */
template <class Lockable>
void acquire_and_cancel(
    RunningStore& running, Lockable const& lockable, std::chrono::nanoseconds step, Outcomes& outcomes)
{
    auto const cancel = std::make_shared<asio::cancellation_signal>();
    // a steady timer is too coarse for microseconds: the loop is told at the right time by this thread
    auto pending = lockable.async_acquire(asio::bind_cancellation_slot(cancel->slot(), as_future));
    auto const until = std::chrono::steady_clock::now() + step;
    while (std::chrono::steady_clock::now() < until) {
    }
    asio::dispatch(running.executor(), [cancel] { cancel->emit(asio::cancellation_type::terminal); });
    auto [error, lease] = soon(std::move(pending));
    if (!error) {
        CHECK(lease.valid());
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        ++outcomes.granted;
    } else {
        CHECK(error == asio::error::operation_aborted);
        CHECK(lease.empty());
        ++outcomes.aborted;
    }
}

/** The step of a sweep that reaches from the call until well after its usual end. */
std::chrono::nanoseconds step_of(int number, int steps, std::chrono::nanoseconds usual)
{
    return usual * 2 * (number % steps) / steps;
}

/** How long something takes: the median of a few. */
template <class Action>
std::chrono::nanoseconds usual_time(Action action)
{
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 9; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        action();
        times.push_back(std::chrono::steady_clock::now() - begin);
    }
    std::nth_element(times.begin(), times.begin() + 4, times.end());
    return times[4];
}

/** Whether no key of the default pool is left; their ttl is a minute, so none expires. */
bool all_free(RedisClient& redis)
{
    return eventually([&] { return redis.keys("thread_id_lock:*").empty(); }, 5s);
}

} // namespace

TEST_CASE_METHOD(RunningStoreTest, "an acquire cancelled at any moment leaves the slot free", "[integration]")
{
    auto const pool = running.pool(3, 1min);
    auto const usual = usual_time([&] {
        auto slot = RunningStore::acquire(pool);
        RunningStore::release(slot);
    });
    Outcomes outcomes;
    for (int step = 0; step < (long_form() ? 20'000 : 600); ++step)
        acquire_and_cancel(running, pool, step_of(step, 300, usual), outcomes);
    WARN("connected: " << outcomes.granted << " granted, " << outcomes.aborted << " cancelled in time");
    CHECK(outcomes.granted > 0);
    CHECK(outcomes.aborted > 0);
    CHECK(all_free(redis));
}

TEST_CASE_METHOD(RedisTest, "an acquire cancelled while the store connects leaves the slot free", "[integration]")
{
    auto redis = server.client();
    auto const usual = usual_time([&] {
        RunningStore running{server.url()};
        auto slot = RunningStore::acquire(running.pool(3, 1min));
        RunningStore::release(slot);
    });
    Outcomes outcomes;
    for (int step = 0; step < (long_form() ? 2'000 : 100); ++step) {
        RunningStore running{server.url()};
        acquire_and_cancel(running, running.pool(3, 1min), step_of(step, 100, usual), outcomes);
    }
    WARN("connecting: " << outcomes.granted << " granted, " << outcomes.aborted << " cancelled in time");
    CHECK(outcomes.aborted > 0);
    CHECK(all_free(redis));
}

TEST_CASE_METHOD(RunningStoreTest, "a waiter cancelled while the slot is handed over passes it on", "[integration]")
{
    RunningStore elsewhere{server.url()};
    auto const pool = running.pool(1, 1min);
    // the second one's turn, its grant by push
    auto const usual = usual_time([&] {
        auto held = RunningStore::acquire(elsewhere.pool(1, 1min));
        auto next = pool.async_acquire(as_future);
        REQUIRE(eventually([&] { return running.store().statistics().waiting == 1; }));
        RunningStore::release(held);
        auto [error, slot] = soon(std::move(next));
        RunningStore::release(slot);
    });
    Outcomes outcomes;
    for (int step = 0; step < (long_form() ? 5'000 : 150); ++step) {
        auto held = RunningStore::acquire(elsewhere.pool(1, 1min));
        auto const cancel = std::make_shared<asio::cancellation_signal>();
        auto first = pool.async_acquire(asio::bind_cancellation_slot(cancel->slot(), as_future));
        auto second = pool.async_acquire(as_future);
        REQUIRE(eventually([&] { return running.store().statistics().waiting == 2; }));
        auto released = held.async_release(as_future);
        auto const until = std::chrono::steady_clock::now() + step_of(step, 150, usual);
        while (std::chrono::steady_clock::now() < until) {
        }
        asio::dispatch(running.executor(), [cancel] { cancel->emit(asio::cancellation_type::terminal); });
        auto [error, slot] = soon(std::move(first));
        error ? ++outcomes.aborted : ++outcomes.granted;
        if (!slot.empty())
            CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
        // the other one must not be left waiting for a hint that the cancelled one has consumed
        auto [second_error, second_slot] = within(5s, std::move(second));
        REQUIRE_FALSE(second_error);
        CHECK(RunningStore::release(second_slot) == ReleaseOutcome::released);
        soon(std::move(released));
    }
    WARN("waiting: " << outcomes.granted << " granted, " << outcomes.aborted << " cancelled in time");
    CHECK(outcomes.aborted > 0);
    CHECK(all_free(redis));
}
