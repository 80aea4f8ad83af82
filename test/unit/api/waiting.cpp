// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The meaning of `wait` in each operation.
#include "unit/api/one_lock.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/system/errc.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A lock that is always held by another program. */
struct HeldElsewhere : OneLock {
    std::optional<error_code> error;

    [[nodiscard]] auto note()
    {
        return [this](error_code failure, Lease const&) { error = failure; };
    }

    /** Lets time pass, and answers each claim with "busy". */
    void pass(std::chrono::milliseconds time)
    {
        ScriptedStore::pass(time, backend->claims, [] { return Busy{}; });
    }

    /** The acquisition goes on for `waits`, and has ended when `ends` has passed as well. */
    void check_that_it_times_out(std::chrono::milliseconds waits, std::chrono::milliseconds ends)
    {
        runtime->run_ready();
        pass(waits);
        CHECK_FALSE(error);
        pass(ends);
        CHECK(error == make_error_code(errc::timed_out));
    }
};

asio::awaitable<void> never_reached(Lease&)
{
    FAIL_CHECK("the lock was held");
    co_return;
}

} // namespace

TEST_CASE("an acquisition waits 30 s unless its options say otherwise, whatever else they say")
{
    HeldElsewhere held;
    SECTION("no options")
    {
        held.lock.async_acquire(held.note());
    }
    SECTION("another ttl")
    {
        held.lock.async_acquire({.ttl = 2s}, held.note());
    }
    held.check_that_it_times_out(29s, 1100ms);
}

TEST_CASE("a duration is a time to wait, and forever never ends")
{
    HeldElsewhere held;
    asio::cancellation_signal cancel;
    SECTION("a duration of any unit")
    {
        held.lock.async_acquire(2s, held.note());
        held.check_that_it_times_out(1900ms, 200ms);
    }
    SECTION("forever")
    {
        bool const by_name = GENERATE(true, false);
        if (by_name)
            held.lock.async_acquire(forever, asio::bind_cancellation_slot(cancel.slot(), held.note()));
        else
            held.lock.async_acquire(
                std::chrono::hours::max(), asio::bind_cancellation_slot(cancel.slot(), held.note()));
        held.runtime->run_ready();
        held.pass(300s);
        CHECK_FALSE(held.error);
        cancel.emit(asio::cancellation_type::terminal);
        held.runtime->run_ready();
        CHECK(held.error == make_error_code(asio::error::operation_aborted));
    }
}

TEST_CASE("async_run waits without end, also where its options name a ttl alone")
{
    HeldElsewhere held;
    std::optional<std::exception_ptr> ended;
    asio::cancellation_signal cancel;
    auto const note = [&](std::exception_ptr failure) { ended = failure; };
    async_run(
        held.lock, never_reached, AcquireOptions{.wait = std::nullopt, .ttl = 2s},
        asio::bind_cancellation_slot(cancel.slot(), note));
    held.runtime->run_ready();
    held.pass(60s);
    CHECK_FALSE(ended);
    cancel.emit(asio::cancellation_type::terminal);
    held.runtime->run_ready();
    CHECK(ended);
}

TEST_CASE("a try and a wait of 0 differ in the form of the answer alone")
{
    HeldElsewhere held;
    std::optional<error_code> tried;
    std::optional<Lease> lease;
    held.lock.async_try_acquire([&](error_code error, std::optional<Lease> got) {
        tried = error;
        lease = std::move(got);
    });
    held.lock.async_acquire(0s, held.note());
    held.runtime->run_ready();
    SECTION("held by another")
    {
        held.pass(10ms);
        CHECK(tried == error_code());
        CHECK(held.error == make_error_code(errc::timed_out));
    }
    SECTION("a store that does not answer")
    {
        held.runtime->run_for(1990ms);
        CHECK_FALSE((tried || held.error));
        held.runtime->run_for(20ms);
        CHECK(tried == make_error_code(errc::store_unavailable));
        CHECK(held.error == make_error_code(errc::store_unavailable));
    }
    CHECK_FALSE(lease);
}

TEST_CASE("a try takes a ttl, and refuses a time to wait")
{
    HeldElsewhere held;
    std::optional<error_code> tried;
    auto const note = [&](error_code error, std::optional<Lease> const&) { tried = error; };
    SECTION("a ttl")
    {
        held.lock.async_try_acquire({.ttl = 2s}, note);
        held.runtime->run_ready();
        REQUIRE(held.backend->claims.size() == 1);
        CHECK(held.backend->claims.front().request.ttl == 2s);
        held.pass(10ms);
        CHECK(tried == error_code());
    }
    SECTION("a time to wait")
    {
        held.lock.async_try_acquire({.wait = 1s}, note);
        held.runtime->run_ready();
        CHECK(tried == make_error_code(boost::system::errc::invalid_argument));
        CHECK(
            held.store->diagnostics().last_detail ==
            "AcquireOptions::wait is 1000 ms: a try does not wait; leave it out, or call async_acquire");
    }
}

TEST_CASE("a pool without a size is refused")
{
    ScriptedStore test;
    CHECK_THROWS_WITH(
        (SlotPool{*test.store, {.prefix = "id:", .ttl = 3s}}),
        "SlotPoolConfig::size is 0: a pool has 1 to 1048576 slots");
}

} // namespace tenure::test
