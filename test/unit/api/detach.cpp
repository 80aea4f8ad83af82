// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A detached lease in the hands of its users: work ends normally, and the key stays taken for the time that was asked
// for.
#include "unit/api/work_under_lock.hpp"

#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace tenure
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

asio::awaitable<void> detach_and_go_on(Lease& lease, bool& went_on)
{
    auto const token = lease.token();
    co_await lease.async_detach(1min, asio::use_awaitable);
    CHECK(token.reason() == CancelReason::detached);
    asio::steady_timer timer(co_await asio::this_coro::executor, 10ms);
    co_await timer.async_wait(asio::use_awaitable);
    went_on = true;
}

/** One lock in virtual time, and what its users see. */
struct Window {
    testing::VirtualTime time;
    testing::SimulatedStore server{time};
    Store store = server.open("worker");
    Store other = server.open("other");
    LockConfig config{.key = "nightly", .ttl = 3s};
    Lock lock{store, config};
    Lease lease;
    std::optional<error_code> told;

    void acquire()
    {
        lock.async_acquire([&](error_code error, Lease granted) {
            REQUIRE_FALSE(error);
            lease = std::move(granted);
        });
        time.run_ready();
        REQUIRE_FALSE(lease.empty());
    }
    void detach(std::chrono::milliseconds remaining)
    {
        lease.async_detach(remaining, [&](error_code error) { told = error; });
    }
    /** @returns the owner */
    std::string acquire_and_detach(std::chrono::milliseconds remaining)
    {
        acquire();
        auto owner = lease.owner();
        detach(remaining);
        time.run_ready();
        return owner;
    }
    [[nodiscard]] bool can_be_had()
    {
        std::optional<Lease> tried;
        Lock(other, config).async_try_acquire([&](error_code, std::optional<Lease> granted) {
            tried = std::move(granted);
        });
        time.run_for(10ms);
        bool const had = tried.has_value();
        tried.reset();
        time.run_for(10ms);
        return had;
    }
    [[nodiscard]] KeyState state()
    {
        std::optional<KeyState> seen;
        lock.async_inspect([&](error_code, std::vector<KeyState> states) { seen = states.at(0); });
        time.run_ready();
        REQUIRE(seen);
        return *seen;
    }
};

} // namespace

TEST_CASE("a detached key is taken for the time that was asked for, and shown as kept by its last owner")
{
    Window window;
    auto const owner = window.acquire_and_detach(30s);
    CHECK(window.told == error_code());
    auto const state = window.state();
    CHECK(state.kind == KeyState::Kind::kept);
    CHECK(state.owner == owner);
    CHECK(state.remaining == 30s);
    CHECK_FALSE(state.held_for);
    window.time.run_for(29s);
    CHECK_FALSE(window.can_be_had());
    window.time.run_for(1s);
    CHECK(window.can_be_had());
}

TEST_CASE("a waiter gets a detached key when its time is over, also where that is sooner than the ttl")
{
    Window window;
    window.acquire();
    std::optional<error_code> waited;
    Lock(window.other, window.config).async_acquire(forever, [&](error_code error, Lease) { waited = error; });
    window.time.run_for(100ms);
    window.detach(500ms);
    window.time.run_for(490ms);
    CHECK_FALSE(waited);
    window.time.run_for(20ms);
    CHECK(waited == error_code());
}

TEST_CASE("a detachment whose answers are lost comes through, and the key is not kept longer for being asked again")
{
    Window window;
    window.acquire();
    window.server.set_answers_lost(true);
    window.detach(30s);
    window.time.run_for(900ms);
    window.server.set_answers_lost(false);
    window.time.run_for(2s);
    CHECK(window.told);
    CHECK(window.state().kind == KeyState::Kind::kept);
    CHECK(*window.state().remaining <= 30s - 2900ms);
    CHECK(window.store.statistics().detached == 1);
}

TEST_CASE("a key that was left to expire cannot be evicted")
{
    Window window;
    auto const owner = window.acquire_and_detach(30s);
    std::optional<error_code> evicted;
    window.store.async_evict(
        {.range = window.lock.range(), .owner = owner}, "operator",
        [&](error_code error, std::chrono::milliseconds) { evicted = error; });
    window.time.run_ready();
    CHECK(evicted == make_error_code(errc::lease_lost));
    CHECK(window.state().kind == KeyState::Kind::kept);
}

TEST_CASE("operations and stop tokens under a detached lease end, and never inside the detachment")
{
    asio::io_context context;
    Lock const lock{open_store(context.get_executor(), MemoryConfig{}), {.key = "job", .ttl = 5s}};
    std::optional<error_code> ended;
    std::stop_token stop;
    bool stopped_inside = true;
    asio::steady_timer timer(context, 1h);
    lock.async_acquire([&](error_code error, Lease lease) {
        REQUIRE_FALSE(error);
        stop = lease.token().stop_token();
        timer.async_wait(asio::bind_executor(
            context.get_executor(), cancel_on(lease.token(), [&](error_code why) { ended = why; })));
        lease.async_detach([](error_code) {});
        stopped_inside = stop.stop_requested();
    });
    test::run_to_end(context);
    CHECK(ended == make_error_code(asio::error::operation_aborted));
    CHECK(stop.stop_requested());
    CHECK_FALSE(stopped_inside);
}

TEST_CASE("work under async_with_lease that detaches its lease goes on, and ends normally")
{
    test::WorkUnderLock under_lock;
    under_lock.async_with_lease([&](Lease& lease) { return detach_and_go_on(lease, under_lock.went_on); });
    CHECK(under_lock.went_on);
    CHECK(under_lock.store.statistics().detached == 1);
    CHECK(under_lock.store.statistics().released == 0);
}

TEST_CASE("async_run of work that detaches its lease ends, and acquires no other")
{
    test::WorkUnderLock under_lock;
    under_lock.run([&](Lease& lease) { return detach_and_go_on(lease, under_lock.went_on); });
    CHECK(under_lock.went_on);
    CHECK(under_lock.store.statistics().acquired == 1);
}

TEST_CASE("a slot is detached as a lock is")
{
    asio::io_context context;
    auto const store = open_store(context.get_executor(), MemoryConfig{});
    SlotPool const pool{store, {.size = 2, .ttl = 5s}};
    std::optional<error_code> told;
    std::optional<std::uint32_t> next;
    pool.async_acquire([&](error_code error, Slot slot) {
        REQUIRE_FALSE(error);
        CHECK(slot.id() == 0);
        slot.async_detach(1min, [&](error_code failure) {
            told = failure;
            pool.async_try_acquire([&](error_code, std::optional<Slot> other) { next = other->id(); });
        });
    });
    test::run_to_end(context);
    CHECK(told == error_code());
    CHECK(next == 1);
}

} // namespace tenure
