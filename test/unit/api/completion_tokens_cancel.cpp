// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Cancellation of every kind, by every way Asio has for it.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#include <boost/asio/cancel_after.hpp>
#endif

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <future>
#include <tuple>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace std::chrono_literals;

namespace
{

constexpr auto tuple_future = asio::as_tuple(asio::use_future);

/** A pool of one slot that is held, on a loop in a thread of its own. */
struct Held {
    asio::thread_pool threads{1};
    SlotPool pool{open_store(threads.get_executor(), MemoryConfig{}), {.size = 1, .ttl = 5s}};
    Slot slot = pool.async_acquire(asio::use_future).get();

    /** The slot is free for exactly one further acquisition. */
    void check_unharmed()
    {
        CHECK(slot.valid());
        CHECK(slot.async_release(asio::use_future).get() == ReleaseOutcome::released);
        auto next = pool.async_try_acquire(asio::use_future).get();
        REQUIRE(next);
        CHECK(next->valid());
        CHECK(next->async_release(asio::use_future).get() == ReleaseOutcome::released);
    }
};

template <class Result>
Result soon(std::future<Result> future)
{
    REQUIRE(future.wait_for(20s) == std::future_status::ready);
    return future.get();
}

/** The result of an operation that is cancelled right after its begin: on the loop, so that no answer can come between.
 */
template <class Begin>
auto begin_and_cancel(Held& held, asio::cancellation_signal& cancel, asio::cancellation_type type, Begin begin)
{
    auto const token = asio::bind_cancellation_slot(cancel.slot(), tuple_future);
    std::promise<decltype(begin(token))> started;
    asio::post(held.threads, [&] {
        started.set_value(begin(token));
        cancel.emit(type);
    });
    return soon(soon(started.get_future()));
}

} // namespace

TEST_CASE("every type of cancellation stops a waiting acquire and harms nothing")
{
    Held held;
    auto const type =
        GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total);
    asio::cancellation_signal cancel;
    auto waiting = held.pool.async_acquire(asio::bind_cancellation_slot(cancel.slot(), tuple_future));
    asio::post(held.threads, [&] { cancel.emit(type); });
    auto const [error, slot] = soon(std::move(waiting));
    CHECK(error == asio::error::operation_aborted);
    CHECK(slot.empty());
    held.check_unharmed();
    CHECK(held.slot.state() == LeaseState::released);
}

TEST_CASE("every type of cancellation stops the waits on a lease, and the lease goes on")
{
    Held held;
    auto const type =
        GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total);
    asio::cancellation_signal cancel_token;
    asio::cancellation_signal cancel_risk;
    auto token = held.slot.token().async_wait(asio::bind_cancellation_slot(cancel_token.slot(), tuple_future));
    auto risk = held.slot.async_wait_at_risk(asio::bind_cancellation_slot(cancel_risk.slot(), tuple_future));
    asio::post(held.threads, [&] {
        cancel_token.emit(type);
        cancel_risk.emit(type);
    });
    CHECK(std::get<0>(soon(std::move(token))) == asio::error::operation_aborted);
    CHECK(std::get<0>(soon(std::move(risk))) == asio::error::operation_aborted);
    CHECK_FALSE(held.slot.token().cancelled());
    held.check_unharmed();
}

TEST_CASE("a cancelled release is finished in the background")
{
    Held held;
    asio::cancellation_signal cancel;
    auto const [error, outcome] = begin_and_cancel(held, cancel, asio::cancellation_type::terminal, [&](auto token) {
        return held.slot.async_release(std::move(token));
    });
    CHECK(outcome == (error ? ReleaseOutcome::unconfirmed : ReleaseOutcome::released));
    CHECK((!error || error == asio::error::operation_aborted));
    CHECK_FALSE(held.slot.valid());
    auto next = soon(held.pool.async_acquire(asio::use_future));
    CHECK(next.valid());
}

TEST_CASE("a cancelled renewal leaves the lease as it is")
{
    Held held;
    asio::cancellation_signal cancel;
    auto const [error] = begin_and_cancel(held, cancel, asio::cancellation_type::partial, [&](auto token) {
        return held.slot.async_renew(std::move(token));
    });
    CHECK((!error || error == asio::error::operation_aborted));
    held.check_unharmed();
}

TEST_CASE("a cancellation that comes before the operation has begun to wait is not lost")
{
    Held held;
    asio::cancellation_signal cancel;
    auto const result = begin_and_cancel(held, cancel, asio::cancellation_type::terminal, [&](auto token) {
        return held.pool.async_acquire(std::move(token));
    });
    CHECK(std::get<0>(result) == asio::error::operation_aborted);
    held.check_unharmed();
}

TEST_CASE("a cancelled waiter passes its turn to the next")
{
    Held held;
    asio::cancellation_signal cancel;
    auto first = held.pool.async_acquire(asio::bind_cancellation_slot(cancel.slot(), tuple_future));
    auto second = held.pool.async_acquire(tuple_future);
    asio::post(held.threads, [&] { cancel.emit(asio::cancellation_type::terminal); });
    CHECK(std::get<0>(soon(std::move(first))) == asio::error::operation_aborted);
    held.slot.async_release(asio::use_future).get();
    auto const result = soon(std::move(second));
    CHECK_FALSE(std::get<0>(result));
    CHECK(std::get<1>(result).valid());
}

TEST_CASE("the end of a coroutine's scope cancels what it waits for")
{
    Held held;
    asio::cancellation_signal cancel;
    auto const body = [](SlotPool pool) -> asio::awaitable<error_code> {
        auto result = co_await pool.async_acquire(asio::as_tuple(asio::use_awaitable));
        co_return std::get<0>(result);
    };
    auto ended =
        asio::co_spawn(held.threads, body(held.pool), asio::bind_cancellation_slot(cancel.slot(), tuple_future));
    asio::post(held.threads, [&] { cancel.emit(asio::cancellation_type::terminal); });
    auto const result = soon(std::move(ended));
    CHECK((std::get<0>(result) || std::get<1>(result) == asio::error::operation_aborted));
    held.check_unharmed();
}

TEST_CASE("a running timer ends when the token of a lease fires")
{
    Held held;
    auto limited = Lock{
        open_store(held.threads.get_executor(), MemoryConfig{}, StoreOptions{"worker", silent_log_sink()}),
        {.key = "limited", .ttl = 5s, .lease = {.max_hold = 50ms}}};
    auto lease = soon(limited.async_acquire(asio::use_future));
    asio::steady_timer timer{held.threads, 1h};
    auto const [error] = soon(timer.async_wait(cancel_on(lease.token(), tuple_future)));
    CHECK(error == asio::error::operation_aborted);
    CHECK(lease.token().reason() == CancelReason::max_hold);
    // and one that starts when it has fired already
    timer.expires_after(1h);
    CHECK(
        std::get<0>(soon(timer.async_wait(cancel_on(lease.token(), tuple_future)))) == asio::error::operation_aborted);
}

#if BOOST_VERSION >= 108600
TEST_CASE("cancel_after ends a waiting acquire")
{
    Held held;
    auto const [error, slot] = soon(held.pool.async_acquire(asio::cancel_after(30ms, tuple_future)));
    CHECK(error == asio::error::operation_aborted);
    CHECK(slot.empty());
    auto token = held.slot.token();
    CHECK(
        std::get<0>(soon(token.async_wait(asio::cancel_after(30ms, tuple_future)))) == asio::error::operation_aborted);
    held.check_unharmed();
}

TEST_CASE("cancel_after leaves an acquire alone that is quick enough")
{
    Held held;
    held.slot.async_release(asio::use_future).get();
    auto const body = [](SlotPool pool) -> asio::awaitable<bool> {
        Slot slot = co_await pool.async_acquire(asio::cancel_after(10s, asio::use_awaitable));
        co_return slot.valid();
    };
    CHECK(soon(asio::co_spawn(held.threads, body(held.pool), asio::use_future)));
}
#endif
