// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/code_of.hpp"
#include <tenure/tenure.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenure
{

namespace asio = boost::asio;

using namespace std::chrono_literals;
using test::code_of;

namespace
{

/** A memory store on a context of its own, and what waits for its results. */
struct Bench {
    asio::io_context context;
    std::optional<Store> store{
        open_store(context.get_executor(), MemoryConfig{}, StoreOptions{"worker", silent_log_sink()})};

    /** Runs everything there is, for 10 s at most; true if nothing is left. */
    bool run()
    {
        context.restart();
        context.run_for(10s);
        return context.stopped();
    }

    template <class Pool>
    auto acquire(Pool const& pool)
    {
        auto future = pool.async_acquire(asio::use_future);
        context.restart();
        while (future.wait_for(0s) != std::future_status::ready)
            context.run_one();
        return future.get();
    }

    /** Takes the key away from its holder. */
    void evict(SlotPool const& pool, Slot const& slot)
    {
        store->async_evict(
            {.range = pool.range(), .index = slot.id(), .owner = slot.owner()}, "test",
            [](error_code error, auto) { CHECK_FALSE(error); });
    }
};

asio::awaitable<void> pause(std::chrono::milliseconds duration)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, duration);
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<int> compute(Lease& lease)
{
    co_await pause(5ms);
    co_return lease.valid() ? 42 : 0;
}

asio::awaitable<void> endless(Slot&)
{
    co_await pause(1h);
}

asio::awaitable<void> failing(Slot&)
{
    co_await pause(1ms);
    throw std::runtime_error("the work's own");
}

} // namespace

TEST_CASE("with_lease runs the work under the lease, gives back its result and releases")
{
    Bench bench;
    Lock const lock(*bench.store, {.key = "k", .ttl = 3s});
    std::optional<int> result;
    bool free_again = false;
    async_with_lease(bench.acquire(lock), compute, [&](std::exception_ptr failure, int value) {
        CHECK_FALSE(failure);
        result = value;
        lock.async_try_acquire(
            [&](error_code, std::optional<Lease> const& lease) { free_again = lease && lease->valid(); });
        bench.store.reset();
    });
    bench.context.restart();
    bench.context.run_for(200ms);
    CHECK(result == 42);
    CHECK(free_again);
}

TEST_CASE("with_lease cancels the work when the lease is lost, and says so after it has wound down")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 300ms});
    auto slot = bench.acquire(pool);
    bench.evict(pool, slot);
    std::optional<error_code> result;
    async_with_lease(std::move(slot), endless, [&](std::exception_ptr failure) {
        result = code_of(failure);
        bench.context.stop();
    });
    bench.run();
    CHECK(result == make_error_code(errc::lease_lost));
    CHECK(bench.store->statistics().lost[CancelReason::not_owner] == 1);
}

TEST_CASE("an exception of the work's own comes through, and the lease is released")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 3s});
    bool thrown = false;
    async_with_lease(bench.acquire(pool), failing, [&](std::exception_ptr failure) {
        try {
            std::rethrow_exception(failure);
        } catch (std::runtime_error const& error) {
            thrown = std::string(error.what()) == "the work's own";
        }
        bench.context.stop();
    });
    bench.run();
    CHECK(thrown);
    CHECK(bench.store->statistics().released == 1);
}

TEST_CASE("the caller's cancellation reaches the work, and the lease is released")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 3s});
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    async_with_lease(
        bench.acquire(pool), endless, asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr failure) {
            result = code_of(failure);
            bench.context.stop();
        }));
    asio::steady_timer later(bench.context, 5ms);
    later.async_wait([&](error_code) { cancel.emit(asio::cancellation_type::terminal); });
    bench.run();
    CHECK(result == error_code(asio::error::operation_aborted));
    CHECK(bench.store->statistics().released == 1);
}

TEST_CASE("with_lease and async_run complete on the handler's executor where that can do no more than run completions")
{
    Bench bench;
    asio::thread_pool elsewhere{1};
    SlotPool const pool(*bench.store, {.size = 2, .ttl = 3s});
    auto const work = [](Slot&) -> asio::awaitable<void> { co_return; };
    std::vector<bool> on_it;
    std::promise<void> both;
    // one thread calls both
    auto const there = [&, executor = elsewhere.get_executor()](std::exception_ptr const&) {
        on_it.push_back(executor.running_in_this_thread());
        if (on_it.size() == 2)
            both.set_value();
    };
    auto const executor = asio::any_completion_executor(elsewhere.get_executor());
    async_with_lease(bench.acquire(pool), work, asio::bind_executor(executor, there));
    async_run(pool, work, asio::bind_executor(executor, there));
    auto const future = both.get_future();
    bench.context.restart();
    while (future.wait_for(0s) != std::future_status::ready)
        bench.context.run_one_for(10ms);
    CHECK(on_it == std::vector<bool>{true, true});
    elsewhere.join();
}

TEST_CASE("work under a lease that is lost while it begins is cancelled, whichever thread is first")
{
    asio::thread_pool threads{2};
    std::optional<SlotPool> pool(
        std::in_place, open_store(threads.get_executor(), MemoryConfig{}, StoreOptions{"worker", silent_log_sink()}),
        SlotPoolConfig{.size = 1, .ttl = 3s, .lease = {.max_hold = 1ms}});
    for (int round = 0; round < 1000; ++round) {
        auto slot = pool->async_acquire(asio::use_future).get();
        // just before, and just after
        auto const begin = slot.stop_at() + std::chrono::microseconds(round % 20 - 15);
        while (Clock::now() < begin) {
        }
        std::promise<error_code> ended;
        auto result = ended.get_future();
        async_with_lease(
            std::move(slot), endless, [&](std::exception_ptr const& failure) { ended.set_value(code_of(failure)); });
        REQUIRE(result.wait_for(10s) == std::future_status::ready);
        CHECK(result.get() == errc::lease_lost);
    }
    pool.reset();
    threads.join();
}

TEST_CASE("async_run takes another slot when one is lost, and ends when the work ends by itself")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 2, .ttl = 300ms});
    std::vector<std::uint32_t> held;
    auto const work = [&](Slot& slot) -> asio::awaitable<void> {
        held.push_back(slot.id());
        if (held.size() < 2) {
            bench.evict(pool, slot);
            co_await pause(1h);
        }
    };
    bool ended = false;
    async_run(pool, work, [&](std::exception_ptr failure) {
        CHECK_FALSE(failure);
        ended = true;
        bench.context.stop();
    });
    bench.run();
    CHECK(ended);
    // the evicted key stays taken for the rest of its ttl
    CHECK(held == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("the loss of another lease is an error of the work, and async_run does not begin again")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 2, .ttl = 300ms});
    auto other = bench.acquire(pool);
    int begun = 0;
    auto const work = [&](Slot& slot) -> asio::awaitable<void> {
        ++begun;
        CHECK(slot.id() != other.id());
        bench.evict(pool, other);
        co_await async_with_lease(std::move(other), endless, asio::deferred);
    };
    std::optional<error_code> ended;
    async_run(pool, work, [&](std::exception_ptr failure) {
        ended = code_of(failure);
        bench.context.stop();
    });
    bench.run();
    CHECK(ended == make_error_code(errc::lease_lost));
    CHECK(begun == 1);
}

TEST_CASE("with_lease calls no work under a lease whose release has begun")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 3s});
    auto slot = bench.acquire(pool);
    if (GENERATE(true, false))
        slot.async_release(asio::detached);
    else
        slot.async_detach(1s, asio::detached);
    bool called = false;
    auto const work = [&](Slot&) -> asio::awaitable<void> {
        called = true;
        co_return;
    };
    std::optional<error_code> ended;
    async_with_lease(std::move(slot), work, asio::bind_executor(bench.context, [&](std::exception_ptr failure) {
                         ended = code_of(failure);
                     }));
    bench.run();
    CHECK(ended == make_error_code(errc::released));
    CHECK_FALSE(called);
}

TEST_CASE("async_run can be cancelled while it waits for a slot, and while the work runs")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 3s});
    Slot other;
    bool const waiting = GENERATE_COPY(true, false);
    if (waiting)
        other = bench.acquire(pool);
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    async_run(pool, endless, asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr failure) {
                  result = code_of(failure);
                  bench.context.stop();
              }));
    asio::steady_timer later(bench.context);
    std::function<void()> const cancel_when_it_runs = [&] {
        later.expires_after(20ms);
        later.async_wait([&](error_code) {
            // a slow machine takes longer to begin
            if (!waiting && bench.store->statistics().held == 0)
                cancel_when_it_runs();
            else
                cancel.emit(asio::cancellation_type::terminal);
        });
    };
    cancel_when_it_runs();
    bench.run();
    CHECK(result == error_code(asio::error::operation_aborted));
    CHECK(bench.store->statistics().held == (waiting ? 1 : 0));
}

TEST_CASE("an operation under cancel_on ends when the token fires, and leaves the token alone when it ends by itself")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 300ms});
    auto slot = bench.acquire(pool);
    asio::steady_timer shortly(bench.context, 1ms);
    asio::steady_timer never(bench.context, 1h);
    std::optional<error_code> first;
    std::optional<error_code> second;
    shortly.async_wait(cancel_on(slot.token(), [&](error_code error) {
        first = error;
        bench.evict(pool, slot);
    }));
    never.async_wait(cancel_on(slot.token(), [&](error_code error) {
        second = error;
        bench.context.stop();
    }));
    bench.run();
    CHECK(first == error_code());
    CHECK(second == error_code(asio::error::operation_aborted));
    CHECK(slot.token().reason() == CancelReason::not_owner);
}

TEST_CASE("an operation of another context under cancel_on is cancelled on its own thread")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 300ms});
    auto slot = bench.acquire(pool);
    asio::io_context own;
    asio::steady_timer never(own, 1h);
    std::optional<error_code> result;
    never.async_wait(cancel_on(slot.token(), [&](error_code error) { result = error; }));
    bench.evict(pool, slot);
    bench.context.restart();
    while (!slot.token().cancelled())
        bench.context.run_one_for(1s);
    bench.context.run_for(10ms);
    // the timer is still untouched: it belongs to who runs its context
    CHECK(never.cancel() == 1);
    own.run_for(1s);
    CHECK(result == error_code(asio::error::operation_aborted));
}

TEST_CASE("an operation under cancel_on still obeys its caller")
{
    Bench bench;
    SlotPool const pool(*bench.store, {.size = 1, .ttl = 3s});
    auto const slot = bench.acquire(pool);
    asio::steady_timer never(bench.context, 1h);
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    never.async_wait(cancel_on(slot.token(), asio::bind_cancellation_slot(cancel.slot(), [&](error_code error) {
                                   result = error;
                                   bench.context.stop();
                               })));
    asio::post(bench.context, [&] { cancel.emit(asio::cancellation_type::total); });
    bench.run();
    CHECK(result == error_code(asio::error::operation_aborted));
    CHECK(slot.valid());
}

TEST_CASE("a context with nothing left to do returns soon after the last user of a store has gone")
{
    Bench bench;
    {
        SlotPool const pool(*bench.store, {.size = 1, .ttl = 10s});
        auto slot = bench.acquire(pool);
        bench.store.reset();
    }
    auto const began = Clock::now();
    CHECK(bench.run());
    CHECK(Clock::now() - began < 2s);
}

} // namespace tenure
