// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Tasks that several threads spawn while the run ends.
#include <tenure/run.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/stores/memory.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace tenure
{

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** Counts tasks that use the slot at the same time, and those that found it gone. */
struct Seen {
    std::atomic<int> inside = 0;
    std::atomic<int> together = 0;
    std::atomic<int> begun = 0;
    std::atomic<int> invalid = 0;
};

asio::awaitable<void> task(Slot& slot, Seen& seen)
{
    ++seen.begun;
    if (seen.inside.fetch_add(1) > 0)
        ++seen.together;
    if (!slot.valid())
        ++seen.invalid;
    --seen.inside;
    asio::steady_timer wait(co_await asio::this_coro::executor, 1h);
    co_await wait.async_wait(asio::deferred);
}

asio::awaitable<void> work(Slot& slot, TaskGroup& tasks, Seen& seen, std::atomic<int>& taken)
{
    std::vector<std::jthread> threads;
    std::atomic<bool> go = true;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            while (go)
                taken += tasks.spawn(task(slot, seen), asio::detached) ? 1 : 0;
        });
    asio::steady_timer wait(co_await asio::this_coro::executor, 20ms);
    co_await wait.async_wait(asio::deferred);
    go = false;
}

} // namespace

TEST_CASE("tasks from several threads run on one strand of a thread pool, and all are joined")
{
    Seen seen;
    std::atomic<int> taken = 0;
    asio::thread_pool threads(3);
    auto const store = open_store(threads, MemoryConfig{});
    SlotPool const pool(store, {.prefix = "pool:", .size = 4, .ttl = 5s});
    auto const run = [&](Slot& slot, TaskGroup& tasks) { return work(slot, tasks, seen, taken); };
    async_run(pool, run, asio::use_future).get();
    CHECK(taken > 0);
    CHECK(seen.together == 0);
    CHECK(seen.invalid == 0);
    CHECK(store.statistics().released == 1);
    CHECK(store.statistics().held == 0);
}

TEST_CASE("a task's handler runs on its own executor, which waits for it")
{
    asio::io_context context;
    asio::io_context other;
    auto const store = open_store(context, MemoryConfig{});
    SlotPool const pool(store, {.prefix = "pool:", .size = 4, .ttl = 5s});
    bool told = false;
    auto const run = [&](Slot&, TaskGroup& tasks) -> asio::awaitable<void> {
        tasks.spawn(
            []() -> asio::awaitable<void> { co_return; },
            asio::bind_executor(other.get_executor(), [&](std::exception_ptr) { told = true; }));
        co_return;
    };
    bool ended = false;
    async_run(pool, run, [&](std::exception_ptr failure) { ended = !failure; });
    context.run_for(5s);
    CHECK(ended);
    CHECK_FALSE(told);
    other.run_for(5s);
    CHECK(told);
}

TEST_CASE("tasks and their lease go with the context that is destroyed under them")
{
    auto const alive = std::make_shared<int>();
    {
        asio::io_context context;
        auto const store = open_store(context, MemoryConfig{});
        SlotPool const pool(store, {.prefix = "pool:", .size = 4, .ttl = 5s});
        auto const run = [alive](Slot&, TaskGroup& tasks) -> asio::awaitable<void> {
            tasks.spawn([kept = alive]() -> asio::awaitable<void> {
                asio::steady_timer wait(co_await asio::this_coro::executor, 1h);
                co_await wait.async_wait(asio::deferred);
            });
            asio::steady_timer wait(co_await asio::this_coro::executor, 1h);
            co_await wait.async_wait(asio::deferred);
        };
        async_run(pool, run, [kept = alive](std::exception_ptr) {});
        context.run_for(50ms);
        CHECK(alive.use_count() > 2);
    }
    CHECK(alive.use_count() == 1);
}

} // namespace tenure
