// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The orderly end of a store.
#include "unit/api/one_lock.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

struct Closing : OneLock {
    Closing() = default;
    /** The store closes while the lock is held. */
    explicit Closing(std::chrono::milliseconds timeout)
    {
        hold();
        close(timeout);
    }

    std::optional<error_code> closed;

    void close(std::chrono::milliseconds timeout)
    {
        store->async_close(timeout, [this](error_code error) { closed = error; });
        runtime->run_ready();
    }
};

asio::awaitable<void> use_once(Store store)
{
    Lock const lock{store, {.key = "job", .ttl = 5s}};
    Lease lease = co_await lock.async_acquire(asio::use_awaitable);
    co_await lease.async_release(asio::use_awaitable);
    co_await store.async_close(5s, asio::use_awaitable);
}

} // namespace

TEST_CASE("a store without leases closes at once, and again without harm")
{
    Closing test;
    test.close(5s);
    CHECK(test.closed == error_code());
    CHECK(test.backend->shutdowns == 1);
    test.closed.reset();
    test.close(5s);
    CHECK(test.closed == error_code());
    CHECK(test.backend->shutdowns == 1);
}

TEST_CASE("a store that closes renews what is held until it has been released")
{
    Closing test(60s);
    test.pass(20s);
    CHECK_FALSE(test.closed);
    CHECK(test.holder.holding.valid());
    CHECK_FALSE(test.holder.holding.token().cancelled());
    test.holder.holding.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    CHECK_FALSE(test.closed);
    test.answer_release();
    CHECK(test.closed == error_code());
    CHECK(test.backend->shutdowns == 1);
}

TEST_CASE("the tokens of leases held beyond the timeout are cancelled, and their keys expire")
{
    Closing test(2s);
    test.pass(1990ms);
    CHECK_FALSE(test.holder.holding.token().cancelled());
    test.pass(20ms);
    CHECK(test.closed == make_error_code(errc::timed_out));
    CHECK(test.holder.holding.token().reason() == CancelReason::store_closed);
    std::optional<ReleaseOutcome> outcome;
    test.holder.holding.async_release([&](error_code, ReleaseOutcome result) { outcome = result; });
    test.runtime->run_ready();
    CHECK(outcome == ReleaseOutcome::unconfirmed);
    CHECK(test.backend->releases.empty());
}

TEST_CASE("a store that closes ends waiting acquisitions and refuses new ones")
{
    Closing test;
    test.hold();
    Attempt<Lease> waiting;
    waiting.start(test.lock);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    CHECK_FALSE(waiting.error);
    test.close(60s);
    CHECK(waiting.error == make_error_code(errc::closed));
    Attempt<Lease> late;
    late.start(test.lock);
    test.runtime->run_ready();
    CHECK(late.error == make_error_code(errc::closed));
    CHECK(test.backend->claims.empty());
}

TEST_CASE("a lease granted to an acquisition that closing ended is given back before the store is closed")
{
    Closing test;
    Attempt<Lease> asking;
    asking.start(test.lock);
    test.runtime->run_ready();
    test.close(60s);
    CHECK(asking.error == make_error_code(errc::closed));
    CHECK_FALSE(test.closed);
    test.backend->answer(test.backend->claims, test.grant(3s));
    test.runtime->run_ready();
    CHECK_FALSE(test.closed);
    test.answer_release();
    CHECK(test.closed == error_code());
}

TEST_CASE("a store that closes in an outage waits at most a second for the release of a lease that is lost")
{
    Closing test;
    test.hold();
    // no renewal is answered
    test.runtime->run_for(3s);
    REQUIRE(test.holder.holding.state() == LeaseState::lost);
    SECTION("the work ended before")
    {
        test.holder.holding.async_release([](error_code, ReleaseOutcome) {});
        test.runtime->run_for(500ms);
        test.close(60s);
        CHECK_FALSE(test.closed);
        test.runtime->run_for(500ms);
    }
    SECTION("the work goes on")
    {
        test.close(60s);
    }
    CHECK(test.closed == error_code());
}

TEST_CASE("of several calls that close a store the earliest timeout counts")
{
    Closing test(60s);
    std::optional<error_code> second;
    test.store->async_close(1s, [&](error_code error) { second = error; });
    test.pass(1100ms);
    CHECK(test.closed == make_error_code(errc::timed_out));
    CHECK(second == make_error_code(errc::timed_out));
}

TEST_CASE("cancelling the wait for a store to close leaves it closing")
{
    Closing test;
    test.hold();
    asio::cancellation_signal cancel;
    std::optional<error_code> waited;
    test.store->async_close(
        60s, asio::bind_cancellation_slot(cancel.slot(), [&](error_code error) { waited = error; }));
    test.runtime->run_ready();
    cancel.emit(asio::cancellation_type::partial);
    test.runtime->run_ready();
    CHECK(waited == make_error_code(asio::error::operation_aborted));
    Attempt<Lease> late;
    late.start(test.lock);
    test.runtime->run_ready();
    CHECK(late.error == make_error_code(errc::closed));
}

TEST_CASE("the context of a closed store has no work left, although the store lives on")
{
    asio::io_context context;
    Store const store = open_store(context.get_executor(), MemoryConfig{});
    asio::co_spawn(context, use_once(store), asio::detached);
    context.run_for(10s);
    CHECK(context.stopped());
}

} // namespace tenure::test
