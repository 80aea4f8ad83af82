// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations of an empty lease: each one ends, and reports that there is no lease.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenure
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

constexpr auto tuple_future = asio::as_tuple(asio::use_future);

asio::awaitable<void> never_called(Lease&)
{
    FAIL_CHECK("the work was called without a lease");
    co_return;
}

} // namespace

TEST_CASE("operations of an empty lease end as those of a released one, on the handler's executor")
{
    asio::io_context context;
    Lease lease;
    auto const here = [&](auto handler) { return asio::bind_executor(context.get_executor(), std::move(handler)); };
    std::optional<error_code> released;
    std::optional<error_code> detached;
    std::optional<error_code> renewed;
    std::optional<error_code> at_risk;
    lease.async_release(here([&](error_code error, ReleaseOutcome) { released = error; }));
    lease.async_detach(1min, here([&](error_code error) { detached = error; }));
    lease.async_renew(here([&](error_code error) { renewed = error; }));
    lease.async_wait_at_risk(here([&](error_code error) { at_risk = error; }));
    CHECK_FALSE((released || detached || renewed || at_risk));
    context.run();
    CHECK(detached == make_error_code(errc::released));
    CHECK(released == make_error_code(errc::released));
    CHECK(renewed == make_error_code(errc::released));
    CHECK(at_risk == make_error_code(errc::released));
}

TEST_CASE("operations of an empty lease end without any executor, too")
{
    Lease lease;
    CHECK(std::get<0>(lease.async_release(tuple_future).get()) == errc::released);
    CHECK(std::get<0>(lease.async_renew(tuple_future).get()) == errc::released);
    CHECK(std::get<0>(lease.async_wait_at_risk(tuple_future).get()) == errc::released);
    CHECK_FALSE(std::get<0>(CancellationToken().async_wait(tuple_future).get()));
}

TEST_CASE("a token without a lease counts as cancelled, so that no work begins under it")
{
    CancellationToken const none;
    CHECK(none.cancelled());
    CHECK(none.reason() == CancelReason::released);
    CHECK(none.stop_token().stop_requested());
    CHECK(Lease().token().cancelled());
    CHECK(Slot().token().cancelled());

    asio::io_context context;
    asio::steady_timer timer(context, 1h);
    std::optional<error_code> result;
    timer.async_wait(
        asio::bind_executor(context.get_executor(), cancel_on(none, [&](error_code error) { result = error; })));
    context.run();
    CHECK(result == make_error_code(asio::error::operation_aborted));
}

TEST_CASE("the number of no slot is refused loudly")
{
    CHECK_THROWS_AS(Slot().id(), std::logic_error);
    asio::io_context context;
    SlotPool const pool{open_store(context.get_executor(), MemoryConfig{}), {.size = 1, .ttl = 5s}};
    Slot slot;
    pool.async_acquire([&](error_code, Slot granted) { slot = std::move(granted); });
    while (slot.empty() && context.run_one() > 0) {
    }
    CHECK(slot.id() == 0);
    Slot const moved_to = std::move(slot);
    CHECK(moved_to.id() == 0);
    CHECK_THROWS_AS(slot.id(), std::logic_error); // NOLINT(bugprone-use-after-move): what it is about
    CHECK(slot.token().cancelled());              // NOLINT(bugprone-use-after-move)
}

static_assert(
    !std::is_convertible_v<Slot&, Lease&>, "a Slot must not be bound as a Lease: its key could be moved away");
static_assert(!std::is_convertible_v<Slot, Lease>, "a Slot must not be sliced");
static_assert(!std::is_assignable_v<Lease&, Slot>);
static_assert(!std::is_assignable_v<Slot&, Lease>);

TEST_CASE("with_lease calls no work without a lease")
{
    asio::io_context context;
    std::exception_ptr failure;
    async_with_lease(Lease(), never_called, asio::bind_executor(context.get_executor(), [&](std::exception_ptr why) {
                         failure = why;
                     }));
    context.run();
    REQUIRE(failure);
    try {
        std::rethrow_exception(failure);
    } catch (boost::system::system_error const& error) {
        CHECK(error.code() == errc::released);
    }
}

} // namespace tenure
