// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Every asynchronous operation under every kind of completion token.
#include "unit/api/run_until.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using tenure::test::run_until;
using namespace std::chrono_literals;

namespace
{

SlotPool memory_pool(asio::any_io_executor executor, std::uint32_t size = 2)
{
    return SlotPool{open_store(std::move(executor), MemoryConfig{}), {.size = size, .ttl = 2s}};
}

template <class Result>
bool ready(std::future<Result> const& future)
{
    return future.wait_for(0s) == std::future_status::ready;
}

/** Runs a coroutine to its end; what it throws fails the test. */
void run(asio::awaitable<void> (*body)(SlotPool), std::uint32_t size = 2)
{
    asio::io_context context;
    auto ended = asio::co_spawn(context, body(memory_pool(context.get_executor(), size)), asio::use_future);
    run_until(context, [&] { return ready(ended); });
    CHECK_NOTHROW(ended.get());
}

/** A function, because Catch2's macros name their expression twice, and each would be awaited. */
void check_released(ReleaseOutcome outcome)
{
    CHECK(outcome == ReleaseOutcome::released);
}

asio::awaitable<void> with_use_awaitable(SlotPool pool)
{
    Slot slot = co_await pool.async_acquire(asio::use_awaitable);
    CHECK(slot.id() == 0);
    std::optional<Slot> tried = co_await pool.async_try_acquire(asio::use_awaitable);
    CHECK(tried.value().id() == 1);
    std::optional<Slot> none = co_await pool.async_try_acquire(asio::use_awaitable);
    CHECK_FALSE(none);
    co_await slot.async_renew(asio::use_awaitable);
    co_await slot.async_renew(3s, asio::use_awaitable);
    CHECK(slot.ttl() == 3s);
    check_released(co_await slot.async_release(asio::use_awaitable));
    check_released(co_await tried->async_release(asio::use_awaitable));
}

asio::awaitable<void> with_the_default_token(SlotPool pool)
{
    Slot slot = co_await pool.async_acquire();
    CHECK(slot.valid());
    std::optional<Slot> tried = co_await pool.async_try_acquire();
    CHECK(tried.value().valid());
    co_await tried->async_renew();
    auto wait = slot.token().async_wait(asio::as_tuple(asio::deferred));
    check_released(co_await slot.async_release());
    auto const [error] = co_await std::move(wait);
    CHECK_FALSE(error);
    CHECK(slot.token().reason() == CancelReason::released);
    co_await tried->async_release();
}

asio::awaitable<void> with_deferred(SlotPool pool)
{
    auto acquire = pool.async_acquire(AcquireOptions{100ms}, asio::deferred);
    Slot slot = co_await std::move(acquire);
    auto release = slot.async_release(asio::deferred);
    CHECK(slot.valid());
    check_released(co_await std::move(release));
    CHECK_FALSE(slot.valid());
}

asio::awaitable<void> with_as_tuple(SlotPool pool)
{
    auto granted = co_await pool.async_acquire(asio::as_tuple(asio::deferred));
    auto& [error, slot] = granted;
    CHECK_FALSE(error);
    auto refused = co_await pool.async_acquire(AcquireOptions{20ms}, asio::as_tuple(asio::use_awaitable));
    CHECK(std::get<0>(refused) == errc::timed_out);
    CHECK(std::get<1>(refused).empty());
    auto const [release_error, outcome] = co_await slot.async_release(asio::as_tuple(asio::deferred));
    CHECK_FALSE(release_error);
    CHECK(outcome == ReleaseOutcome::released);
}

asio::awaitable<void> with_redirect_error(SlotPool pool)
{
    Slot slot = co_await pool.async_acquire(asio::use_awaitable);
    error_code error;
    Slot second = co_await pool.async_acquire(AcquireOptions{20ms}, asio::redirect_error(asio::use_awaitable, error));
    CHECK(error == errc::timed_out);
    CHECK(second.empty());
    co_await slot.async_release(asio::redirect_error(asio::use_awaitable, error));
    CHECK_FALSE(error);
}

asio::awaitable<void> errors_are_thrown(SlotPool pool)
{
    Slot slot = co_await pool.async_acquire(asio::use_awaitable);
    bool thrown = false;
    try {
        (void)co_await pool.async_acquire(AcquireOptions{10ms}, asio::use_awaitable);
    } catch (boost::system::system_error const& failure) {
        thrown = failure.code() == errc::timed_out && failure.code() == condition::busy;
    }
    CHECK(thrown);
    co_await slot.async_release(asio::use_awaitable);
}

asio::awaitable<void> with_operators(SlotPool pool)
{
    using namespace asio::experimental::awaitable_operators;
    auto both = co_await (pool.async_acquire(asio::use_awaitable) && pool.async_acquire(asio::use_awaitable));
    auto& [first, second] = both;
    CHECK(first.id() + second.id() == 1);

    asio::steady_timer timer{co_await asio::this_coro::executor, 30ms};
    auto const winner = co_await (pool.async_acquire(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
    CHECK(winner.index() == 1);
    // the loser was cancelled and has taken nothing
    co_await first.async_release(asio::use_awaitable);
    auto again = co_await pool.async_try_acquire(asio::use_awaitable);
    CHECK(again.value().valid());

    auto const fired = co_await (
        second.token().async_wait(asio::as_tuple(asio::use_awaitable)) || second.async_release(asio::use_awaitable));
    CHECK(fired.index() <= 1);
    co_await again->async_release(asio::use_awaitable);
}

asio::awaitable<void> with_a_store(SlotPool pool)
{
    Store store = open_store(co_await asio::this_coro::executor, "memory://");
    auto slot = co_await pool.async_acquire(asio::use_awaitable);
    auto const states = co_await store.async_inspect(pool.range());
    CHECK(states.size() == 2);
    auto const findings = co_await store.async_examine(2s, asio::use_awaitable);
    CHECK_FALSE(findings.empty());
    auto other = states.at(0);
    other.owner = "another-owner";
    auto const [error, remaining] = co_await store.async_evict(other, "test", asio::as_tuple(asio::use_awaitable));
    CHECK(error == errc::lease_lost);
    CHECK(remaining == 0ms);
    co_await slot.async_release(asio::use_awaitable);
}

/** Checks that a handler runs on the executor of another context; `as` makes the executor that is bound. */
template <class As>
void check_runs_on_its_executor(As as)
{
    asio::io_context context;
    asio::thread_pool elsewhere{1};
    auto pool = memory_pool(context.get_executor());
    std::promise<bool> told;
    pool.async_acquire(asio::bind_executor(
        as(elsewhere.get_executor()), [&, executor = elsewhere.get_executor()](error_code error, Slot slot) {
            told.set_value(!error && slot.valid() && executor.running_in_this_thread());
        }));
    auto future = told.get_future();
    run_until(context, [&] { return ready(future); });
    CHECK(future.get());
    elsewhere.join();
}

} // namespace

TEST_CASE("operations are awaited with use_awaitable")
{
    run(with_use_awaitable);
}

TEST_CASE("operations are awaited without any token")
{
    run(with_the_default_token);
}

TEST_CASE("a deferred operation starts when it is awaited")
{
    run(with_deferred);
}

TEST_CASE("operations complete with a tuple where one is asked for")
{
    run(with_as_tuple, 1);
}

TEST_CASE("operations redirect their error where one is asked to")
{
    run(with_redirect_error, 1);
}

TEST_CASE("operations throw an error that their token does not take")
{
    run(errors_are_thrown, 1);
}

TEST_CASE("operations run side by side and against each other")
{
    run(with_operators);
}

TEST_CASE("a store's own operations are awaited")
{
    run(with_a_store);
}

TEST_CASE("a callback is called once, on the loop, and never inside the call")
{
    asio::io_context context;
    auto pool = memory_pool(context.get_executor());
    auto const loop = std::this_thread::get_id();
    int calls = 0;
    bool initiating = true;
    Slot kept;
    pool.async_acquire([&](error_code error, Slot slot) {
        CHECK_FALSE(initiating);
        CHECK(std::this_thread::get_id() == loop);
        CHECK_FALSE(error);
        CHECK(slot.valid());
        kept = std::move(slot);
        ++calls;
        initiating = true;
        kept.async_release([&](error_code release_error, ReleaseOutcome outcome) {
            CHECK_FALSE(initiating);
            CHECK_FALSE(release_error);
            CHECK(outcome == ReleaseOutcome::released);
            ++calls;
        });
        initiating = false;
    });
    initiating = false;
    run_until(context, [&] { return calls == 2; });
    context.poll();
    CHECK(calls == 2);
}

TEST_CASE("a move-only callback works, and one without an executor runs on the object's")
{
    asio::thread_pool threads{2};
    std::promise<bool> told;
    auto pool = memory_pool(threads.get_executor());
    pool.async_acquire(
        [witness = std::make_unique<int>(7), &told, executor = threads.get_executor()](error_code error, Slot slot) {
            told.set_value(!error && slot.valid() && *witness == 7 && executor.running_in_this_thread());
        });
    auto future = told.get_future();
    REQUIRE(future.wait_for(20s) == std::future_status::ready);
    CHECK(future.get());
    threads.join();
}

TEST_CASE("a handler runs on its own executor")
{
    check_runs_on_its_executor([](asio::thread_pool::executor_type const& executor) { return executor; });
}

TEST_CASE("a handler runs on its own executor where that can do no more than run completions")
{
    check_runs_on_its_executor(
        [](asio::thread_pool::executor_type const& executor) { return asio::any_completion_executor(executor); });
}

TEST_CASE("a handler whose type is erased is called")
{
    asio::io_context context;
    auto pool = memory_pool(context.get_executor());
    bool told = false;
    bool granted = false;
    asio::any_completion_handler<void(error_code, Slot)> erased{[&](error_code error, Slot slot) {
        told = true;
        granted = !error && slot.valid();
    }};
    pool.async_acquire(std::move(erased));
    run_until(context, [&] { return told; });
    CHECK(granted);
}

TEST_CASE("futures are waited for by threads without a loop")
{
    asio::thread_pool threads{1};
    auto pool = memory_pool(threads.get_executor(), 1);
    auto slot = pool.async_acquire(asio::use_future).get();
    CHECK(slot.valid());
    CHECK_THROWS_AS(pool.async_acquire(AcquireOptions{10ms}, asio::use_future).get(), boost::system::system_error);
    CHECK_FALSE(pool.async_try_acquire(asio::use_future).get());
    auto wait = slot.token().async_wait(asio::as_tuple(asio::use_future));
    auto at_risk = slot.async_wait_at_risk(asio::as_tuple(asio::use_future));
    CHECK(slot.async_release(asio::use_future).get() == ReleaseOutcome::released);
    CHECK_FALSE(std::get<0>(wait.get()));
    CHECK(std::get<0>(at_risk.get()) == errc::released);
    threads.join();
}

TEST_CASE("detached operations do their work")
{
    asio::io_context context;
    auto pool = memory_pool(context.get_executor(), 1);
    Slot slot = [&] {
        auto future = pool.async_acquire(asio::use_future);
        run_until(context, [&] { return ready(future); });
        return future.get();
    }();
    slot.async_release(asio::detached);
    auto next = pool.async_acquire(asio::use_future);
    run_until(context, [&] { return ready(next); });
    CHECK(next.get().valid());
}

TEST_CASE("a parallel group waits for slots of several pools")
{
    asio::io_context context;
    auto store = open_store(context.get_executor(), MemoryConfig{});
    SlotPool const one{store, {.prefix = "one:", .size = 1, .ttl = 2s}};
    SlotPool const two{store, {.prefix = "two:", .size = 1, .ttl = 2s}};
    bool told = false;
    bool granted = false;
    asio::experimental::make_parallel_group(one.async_acquire(asio::deferred), two.async_acquire(asio::deferred))
        .async_wait(
            asio::experimental::wait_for_all(),
            [&](std::array<std::size_t, 2>, error_code first_error, Slot first, error_code second_error, Slot second) {
                told = true;
                granted = !first_error && !second_error && first.key() == "one:0" && second.key() == "two:0";
            });
    run_until(context, [&] { return told; });
    CHECK(granted);
}

TEST_CASE("a ranged parallel group takes every slot of a pool once")
{
    asio::io_context context;
    auto pool = memory_pool(context.get_executor(), 8);
    using Operation = decltype(pool.async_acquire(AcquireOptions{}, asio::deferred));
    std::vector<Operation> operations;
    for (int i = 0; i < 8; ++i)
        operations.push_back(pool.async_acquire(AcquireOptions{}, asio::deferred));
    std::vector<bool> seen(8);
    bool told = false;
    asio::experimental::make_parallel_group(std::move(operations))
        .async_wait(
            asio::experimental::wait_for_all(),
            [&](std::vector<std::size_t> const&, std::vector<error_code> const& errors, std::vector<Slot> slots) {
                told = true;
                for (auto const& error : errors)
                    CHECK_FALSE(error);
                for (auto const& slot : slots) {
                    CHECK_FALSE(seen.at(slot.id()));
                    seen.at(slot.id()) = true;
                }
            });
    run_until(context, [&] { return told; });
    CHECK(seen == std::vector<bool>(8, true));
}
