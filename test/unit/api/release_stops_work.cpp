// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A release ends everything that goes on under the lease, and is no loss.
#include "unit/api/one_lock.hpp"
#include "unit/api/work_under_lock.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A lease in virtual time, and a copy of its token in other hands. */
struct Shared : OneLock {
    CancellationToken elsewhere;

    Shared()
    {
        hold();
        elsewhere = holder.holding.token();
        REQUIRE_FALSE(elsewhere.cancelled());
    }
};

asio::awaitable<void> release_and_go_on(Lease& lease, bool& went_on)
{
    auto const token = lease.token();
    co_await lease.async_release(asio::use_awaitable);
    CHECK(token.reason() == CancelReason::released);
    asio::steady_timer timer(co_await asio::this_coro::executor, 10ms);
    co_await timer.async_wait(asio::use_awaitable);
    went_on = true;
}

} // namespace

TEST_CASE("a released lease's token is cancelled for everyone who has a copy, and a destroyed one's likewise")
{
    Shared shared;
    SECTION("released")
    {
        shared.holder.holding.async_release([](error_code, ReleaseOutcome) {});
    }
    SECTION("destroyed")
    {
        shared.holder.holding = Lease();
    }
    CHECK(shared.elsewhere.cancelled());
    CHECK(shared.elsewhere.reason() == CancelReason::released);
    CHECK_FALSE(is_loss(shared.elsewhere.reason()));
    CHECK(shared.elsewhere.stop_token().stop_requested());
}

TEST_CASE("callbacks of a stop token never run inside the release or the destructor")
{
    Shared shared;
    bool stopped = false;
    std::stop_callback<std::function<void()>> const callback(
        shared.elsewhere.stop_token(), [&stopped] { stopped = true; });
    SECTION("released")
    {
        shared.holder.holding.async_release([](error_code, ReleaseOutcome) {});
    }
    SECTION("destroyed")
    {
        shared.holder.holding = Lease();
    }
    CHECK_FALSE(stopped);
    shared.runtime->run_ready();
    CHECK(stopped);
}

TEST_CASE("an operation under cancel_on ends when the lease is released")
{
    asio::io_context context;
    Lock const lock{open_store(context.get_executor(), MemoryConfig{}), {.key = "job", .ttl = 5s}};
    std::optional<error_code> ended;
    asio::steady_timer timer(context, 1h);
    lock.async_acquire([&](error_code error, Lease lease) {
        REQUIRE_FALSE(error);
        timer.async_wait(asio::bind_executor(
            context.get_executor(), cancel_on(lease.token(), [&](error_code why) { ended = why; })));
        lease.async_release([](error_code, ReleaseOutcome) {});
    });
    run_to_end(context);
    CHECK(ended == make_error_code(asio::error::operation_aborted));
}

TEST_CASE("work under async_with_lease is not cancelled by its own release, which is a normal end")
{
    WorkUnderLock under_lock;
    under_lock.async_with_lease([&](Lease& lease) { return release_and_go_on(lease, under_lock.went_on); });
    CHECK(under_lock.went_on);
    CHECK(under_lock.store.statistics().released == 1);
}

TEST_CASE("async_run of work that releases its own lease ends, and acquires no other")
{
    WorkUnderLock under_lock;
    under_lock.run([&](Lease& lease) { return release_and_go_on(lease, under_lock.went_on); });
    CHECK(under_lock.went_on);
    CHECK(under_lock.store.statistics().acquired == 1);
}

} // namespace tenure::test
