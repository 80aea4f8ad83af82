// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What belongs to no lease: each operation ends, and says that there is none.
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
#include <tuple>

namespace tenure
{

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
    std::optional<error_code> renewed;
    std::optional<error_code> at_risk;
    lease.async_release(here([&](error_code error, ReleaseOutcome) { released = error; }));
    lease.async_renew(here([&](error_code error) { renewed = error; }));
    lease.async_wait_at_risk(here([&](error_code error) { at_risk = error; }));
    CHECK_FALSE((released || renewed || at_risk));
    context.run();
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
    CHECK(std::get<0>(CancellationToken().async_wait(tuple_future).get()) == errc::released);
}

TEST_CASE("an operation under a token that never fires is left alone")
{
    asio::io_context context;
    asio::steady_timer timer(context, 1ms);
    std::optional<error_code> result;
    timer.async_wait(cancel_on(CancellationToken(), [&](error_code error) { result = error; }));
    context.run();
    CHECK(result == error_code());
}

TEST_CASE("with_lease calls no work without a lease")
{
    asio::io_context context;
    std::exception_ptr failure;
    with_lease(Lease(), never_called, asio::bind_executor(context.get_executor(), [&](std::exception_ptr why) {
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
