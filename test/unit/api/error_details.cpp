// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The details of a failed operation reach its own caller.
#include "unit/scripted_store.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>

namespace tenure::test
{

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** The result of one operation, as an exception. */
struct Outcome {
    bool called = false;
    error_code code;
    std::string what;
    std::string details;

    void operator()(std::exception_ptr const& failure)
    {
        called = true;
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (error const& thrown) {
            code = thrown.code();
            what = thrown.what();
            details = thrown.details();
        }
    }
    auto handler()
    {
        return with_details([this](std::exception_ptr failure, auto const&...) { (*this)(failure); });
    }
};

Failure refusal(std::string words)
{
    return Failure::refused(make_error_code(errc::permission_denied), std::move(words), true);
}

struct Details {
    ScriptedStore test;
    Lock first{*test.store, {.key = "first", .ttl = 3s}};
    Lock second{*test.store, {.key = "second", .ttl = 3s}};

    template <class Queue, class Reply>
    void answer(Queue& queue, Reply reply)
    {
        test.backend->answer(queue, std::move(reply));
        test.runtime->run_ready();
    }
};

} // namespace

TEST_CASE("each of two failed acquisitions gets the words of its own failure")
{
    Details test;
    Outcome one;
    Outcome two;
    test.first.async_acquire(one.handler());
    test.second.async_acquire(two.handler());
    test.test.runtime->run_ready();
    REQUIRE(test.test.backend->claims.size() == 2);
    test.test.backend->answer(test.test.backend->claims, refusal("NOPERM first"));
    test.test.backend->answer(test.test.backend->claims, refusal("NOPERM second"));
    test.test.runtime->run_ready();
    CHECK(one.code == make_error_code(errc::permission_denied));
    CHECK(one.details == "NOPERM first");
    CHECK(two.details == "NOPERM second");
    CHECK_THAT(one.what, ContainsSubstring("permission") && ContainsSubstring("(NOPERM first)"));
}

TEST_CASE("a success under with_details has no exception, and passes the lease")
{
    Details test;
    std::optional<bool> valid;
    test.first.async_acquire(with_details([&](std::exception_ptr const& failure, Lease const& lease) {
        CHECK_FALSE(failure);
        valid = lease.valid();
    }));
    test.test.runtime->run_ready();
    test.answer(test.test.backend->claims, test.test.grant(3s));
    CHECK(valid == true);
}

TEST_CASE("words of an earlier failure are not those of a cancelled acquisition")
{
    Details test;
    Outcome outcome;
    asio::cancellation_signal cancel;
    test.first.async_acquire({.wait = 5s}, asio::bind_cancellation_slot(cancel.slot(), outcome.handler()));
    test.test.runtime->run_ready();
    test.answer(test.test.backend->claims, Failure::refused(make_error_code(errc::store_refused), "READONLY"));
    cancel.emit(asio::cancellation_type::terminal);
    test.test.runtime->run_ready();
    CHECK(outcome.code == asio::error::operation_aborted);
    CHECK(outcome.details.empty());
}

TEST_CASE("an operation that a failed one's handler starts does not get its words")
{
    Details test;
    Outcome inner;
    test.first.async_acquire([&](error_code, Lease const&) {
        test.test.store->async_close(0ms, [](error_code) {});
        test.second.async_acquire(inner.handler());
    });
    test.test.runtime->run_ready();
    test.answer(test.test.backend->claims, refusal("NOPERM"));
    CHECK(inner.code == make_error_code(errc::closed));
    CHECK(inner.details.empty());
}

TEST_CASE("options that are refused, queries, readiness and several locks have details")
{
    Details test;
    auto& backend = *test.test.backend;
    SECTION("an option")
    {
        Outcome outcome;
        test.first.async_acquire({.ttl = 1ms}, outcome.handler());
        test.test.runtime->run_ready();
        CHECK_THAT(outcome.details, ContainsSubstring("AcquireOptions::ttl"));
    }
    SECTION("an inspection")
    {
        Outcome outcome;
        backend.answers_inspections = true;
        test.first.async_inspect(outcome.handler());
        test.test.runtime->run_ready();
        test.answer(backend.inspections, refusal("NOPERM inspect"));
        CHECK(outcome.details == "NOPERM inspect");
    }
    SECTION("readiness")
    {
        Outcome outcome;
        test.test.store->async_ready(2s, outcome.handler());
        test.test.runtime->run_ready();
        test.answer(backend.readies, refusal("NOAUTH"));
        CHECK(outcome.details == "NOAUTH");
    }
    SECTION("several locks")
    {
        Outcome outcome;
        MultiLock const both({test.first, test.second});
        both.async_acquire({.wait = 5s}, outcome.handler());
        test.test.runtime->run_ready();
        test.answer(backend.claims, test.test.grant(3s));
        test.answer(backend.claims, refusal("NOPERM second"));
        while (!backend.releases.empty())
            test.answer(backend.releases, Released{});
        CHECK(outcome.details == "NOPERM second");
    }
    SECTION("a reentrant lock")
    {
        Outcome outcome;
        Holder const holder;
        ReentrantLock const lock(*test.test.store, {.key = "again", .ttl = 3s});
        lock.async_acquire(holder, outcome.handler());
        test.test.runtime->run_ready();
        test.answer(backend.claims, refusal("NOPERM again"));
        CHECK(outcome.details == "NOPERM again");
    }
    SECTION("a run")
    {
        Outcome outcome;
        async_run(
            test.first, [](Lease&) -> asio::awaitable<void> { co_return; },
            [&](std::exception_ptr failure) { outcome(failure); });
        test.test.runtime->run_ready();
        test.answer(backend.claims, refusal("NOPERM run"));
        CHECK(outcome.details == "NOPERM run");
    }
}

TEST_CASE("details pass through the handler's own executor")
{
    Details test;
    asio::io_context context;
    Outcome outcome;
    test.first.async_acquire(asio::bind_executor(context.get_executor(), outcome.handler()));
    test.test.runtime->run_ready();
    test.answer(test.test.backend->claims, refusal("NOPERM"));
    CHECK_FALSE(outcome.called);
    context.run();
    CHECK(outcome.details == "NOPERM");
}

TEST_CASE("an error without details has the message alone")
{
    error const plain{make_error_code(errc::timed_out)};
    CHECK(plain.details().empty());
    CHECK(plain.what() == make_error_code(errc::timed_out).message());
}

} // namespace tenure::test
