// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The way of a completion handler from its operation to its executor.
#include "unit/api/run_until.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace asio = boost::asio;

using namespace tenure;
using tenure::test::run_until;
using namespace std::chrono_literals;

namespace
{

/** Says whether anything keeps the context running. */
bool has_work(asio::io_context& context)
{
    context.restart();
    context.poll();
    return !context.stopped();
}

template <class T>
struct CountingAllocator {
    using value_type = T;
    int* blocks;

    explicit CountingAllocator(int& count) noexcept
        : blocks(&count)
    {
    }
    template <class Other>
    CountingAllocator(CountingAllocator<Other> const& other) noexcept
        : blocks(other.blocks)
    {
    }
    [[nodiscard]] T* allocate(std::size_t count)
    {
        ++*blocks;
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* block, std::size_t count) noexcept { std::allocator<T>().deallocate(block, count); }

    template <class Other>
    [[nodiscard]] friend bool operator==(CountingAllocator const& left, CountingAllocator<Other> const& right) noexcept
    {
        return left.blocks == right.blocks;
    }
};

} // namespace

TEST_CASE("the context of a handler's own executor is kept running until the handler was called")
{
    asio::io_context context;
    asio::io_context elsewhere;
    Lock lock(open_store(context, MemoryConfig{}), {.key = "job"});
    std::optional<Lease> lease;
    lock.async_acquire(asio::bind_executor(elsewhere.get_executor(), [&](error_code error, Lease granted) {
        CHECK_FALSE(error);
        lease = std::move(granted);
    }));
    CHECK(has_work(elsewhere));
    run_until(context, [&] {
        elsewhere.poll();
        return lease.has_value();
    });
    CHECK_FALSE(has_work(elsewhere));

    bool told = false;
    lease->token().async_wait(asio::bind_executor(elsewhere.get_executor(), [&](error_code) { told = true; }));
    CHECK(has_work(elsewhere));
    lease->async_release([](error_code, ReleaseOutcome) {});
    run_until(context, [&] {
        elsewhere.restart();
        elsewhere.poll();
        return told;
    });
    CHECK_FALSE(has_work(elsewhere));
}

TEST_CASE("a lease whose handler can no longer be called is given back")
{
    asio::io_context context;
    auto elsewhere = std::make_unique<asio::io_context>();
    auto const store = open_store(context, MemoryConfig{});
    Lock lock(store, {.key = "job"});
    SlotPool pool(store, {.size = 1});
    bool called = false;
    lock.async_acquire(asio::bind_executor(elsewhere->get_executor(), [&](error_code, Lease) { called = true; }));
    pool.async_try_acquire(
        asio::bind_executor(elsewhere->get_executor(), [&](error_code, std::optional<Slot>) { called = true; }));
    run_until(context, [&] { return store.statistics().held == 2; });
    // a completion on its way to the other context arrives there
    context.poll();
    elsewhere.reset();
    run_until(context, [&] { return store.statistics().released == 2; });
    CHECK_FALSE(called);
}

TEST_CASE("an operation takes its memory for the handler from the handler's allocator")
{
    asio::io_context context;
    SlotPool pool(open_store(context, MemoryConfig{}), {.size = 1});
    std::optional<Slot> slot;
    int blocks = 0;
    pool.async_acquire(asio::bind_allocator(CountingAllocator<int>(blocks), [&](error_code error, Slot granted) {
        CHECK_FALSE(error);
        slot = std::move(granted);
    }));
    CHECK(blocks > 0);
    run_until(context, [&] { return slot.has_value(); });
    blocks = 0;
    bool released = false;
    slot->async_release(asio::bind_allocator(
        CountingAllocator<int>(blocks), [&](error_code error, ReleaseOutcome) { released = !error; }));
    CHECK(blocks > 0);
    run_until(context, [&] { return released; });
}

TEST_CASE("cancellation_type::none is ignored")
{
    asio::io_context context;
    Lock lock(open_store(context, MemoryConfig{}), {.key = "job"});
    std::optional<Lease> lease;
    lock.async_acquire([&](error_code, Lease granted) { lease = std::move(granted); });
    run_until(context, [&] { return lease.has_value(); });

    asio::cancellation_signal waiter;
    asio::cancellation_signal observer;
    std::optional<error_code> acquired;
    std::optional<error_code> fired;
    lock.async_acquire(asio::bind_cancellation_slot(waiter.slot(), [&](error_code error, Lease) { acquired = error; }));
    lease->token().async_wait(asio::bind_cancellation_slot(observer.slot(), [&](error_code error) { fired = error; }));
    waiter.emit(asio::cancellation_type::none);
    observer.emit(asio::cancellation_type::none);
    context.poll();
    CHECK_FALSE(acquired);
    CHECK_FALSE(fired);
    waiter.emit(asio::cancellation_type::total);
    observer.emit(asio::cancellation_type::total);
    run_until(context, [&] { return acquired && fired; });
    CHECK(acquired == asio::error::operation_aborted);
    CHECK(fired == asio::error::operation_aborted);
}

TEST_CASE("a result that is there at once reaches a thread of the loop that waits for it, if another thread is free")
{
    asio::io_context context;
    auto const work = asio::make_work_guard(context);
    std::jthread const first([&] { context.run(); });
    std::jthread const second([&] { context.run(); });
    Store const store = open_store(context.get_executor(), "memory://");
    SlotPool const pool(store, {.prefix = "slot:", .size = 1});
    std::promise<std::future_status> waited;
    asio::post(context, [&] {
        // refused inside the initiating call
        auto const refused = pool.async_acquire({.wait = -1ms}, asio::use_future);
        waited.set_value(refused.wait_for(5s));
    });
    CHECK(waited.get_future().get() == std::future_status::ready);
    context.stop();
}
