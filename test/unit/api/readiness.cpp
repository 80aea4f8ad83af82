// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The beginning of a service: what waits for its store to become ready.
#include "unit/scripted_store.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

struct Beginning {
    ScriptedStore test;
    std::optional<error_code> result;
    asio::cancellation_signal cancel;

    void wait(std::chrono::milliseconds timeout)
    {
        test.store->async_ready(
            timeout, asio::bind_cancellation_slot(cancel.slot(), [this](error_code error) { result = error; }));
        test.runtime->run_ready();
    }

    /** Answers the question that is open. */
    template <class Answer>
    void answer(Answer reply)
    {
        REQUIRE(test.backend->readies.size() == 1);
        test.backend->answer(test.backend->readies, std::move(reply));
        test.runtime->run_ready();
    }
};

Failure refusal(errc error, bool fatal)
{
    return Failure::refused(make_error_code(error), "scripted: the server's words", fatal);
}

} // namespace

TEST_CASE("a wait for a store ends when the store is ready")
{
    Beginning test;
    test.wait(5s);
    CHECK_FALSE(test.result);
    test.answer(Ready{});
    CHECK(test.result == error_code());
    CHECK_FALSE(test.test.store->diagnostics().last_error);
}

TEST_CASE("a wait for a store fails at once where a person has to act")
{
    Beginning test;
    auto const begun = test.test.runtime->now();
    SECTION("the login is wrong")
    {
        test.wait(1h);
        test.answer(
            Failure::not_sent(make_error_code(errc::authentication_failed), "scripted: the server's words", true));
        CHECK(test.result == make_error_code(errc::authentication_failed));
    }
    SECTION("a permission is missing")
    {
        test.wait(1h);
        test.answer(refusal(errc::permission_denied, true));
        CHECK(test.result == make_error_code(errc::permission_denied));
    }
    CHECK(test.test.runtime->now() == begun);
    CHECK(test.test.store->diagnostics().last_detail == "scripted: the server's words");
    CHECK(test.test.backend->readies.empty());
}

TEST_CASE("a store that is still loading its data is asked again until it is ready")
{
    Beginning test;
    test.wait(10s);
    for (int i = 0; i < 3; ++i) {
        test.answer(refusal(errc::store_refused, false));
        CHECK_FALSE(test.result);
        CHECK(test.test.backend->readies.empty());
        test.test.runtime->run_for(1s);
    }
    test.answer(Ready{});
    CHECK(test.result == error_code());
}

TEST_CASE("a store that is unavailable until the timeout says why")
{
    Beginning test;
    test.wait(2s);
    auto const begun = test.test.runtime->now();
    while (!test.result) {
        if (!test.test.backend->readies.empty())
            test.answer(Failure::not_sent(make_error_code(errc::store_unavailable), "scripted: connection refused"));
        test.test.runtime->run_for(1ms);
        REQUIRE(test.test.runtime->now() < begun + 3s);
    }
    CHECK(test.test.runtime->now() - begun == 2s);
    CHECK(test.result == make_error_code(errc::store_unavailable));
    CHECK(test.test.store->diagnostics().last_detail == "scripted: connection refused");
}

TEST_CASE("of several failures the last one is reported at the timeout")
{
    Beginning test;
    test.wait(2s);
    test.answer(Failure::not_sent(make_error_code(errc::store_unavailable), "scripted: connection refused"));
    test.test.runtime->run_for(100ms);
    test.answer(refusal(errc::store_refused, false));
    test.test.runtime->run_for(100ms);
    // came too late to be sent: that tells nothing about the store
    test.answer(Failure::dropped());
    test.test.runtime->run_for(2s);
    CHECK(test.result == make_error_code(errc::store_refused));
    CHECK(test.test.store->diagnostics().last_detail == "scripted: the server's words");
}

TEST_CASE("a store that says nothing is unavailable at the timeout")
{
    Beginning test;
    test.wait(2s);
    test.test.runtime->run_for(1999ms);
    CHECK_FALSE(test.result);
    test.test.runtime->run_for(1ms);
    CHECK(test.result == make_error_code(errc::store_unavailable));
    auto const diagnostics = test.test.store->diagnostics();
    CHECK(diagnostics.last_error == make_error_code(errc::store_unavailable));
    CHECK(
        diagnostics.last_detail ==
        "scripted://: no answer before the timeout: check the address, and that the server runs");
    // a later answer changes nothing
    test.result.reset();
    test.answer(Ready{});
    CHECK_FALSE(test.result);
}

TEST_CASE("the store may try to connect until shortly before the timeout, any number of times")
{
    Beginning test;
    test.wait(10s);
    REQUIRE(test.test.backend->readies.size() == 1);
    auto const& deadline = test.test.backend->readies.front().request;
    CHECK_FALSE(deadline.one_attempt());
    CHECK(deadline.at() == test.test.runtime->now() + 9900ms);
    test.answer(Ready{});
}

TEST_CASE("a wait for a store may be endless")
{
    Beginning test;
    test.wait(forever);
    test.test.runtime->run_for(1h);
    CHECK_FALSE(test.result);
    test.answer(Ready{});
    CHECK(test.result == error_code());
}

TEST_CASE("cancelling a wait for a store abandons the request")
{
    Beginning test;
    test.wait(5s);
    test.cancel.emit(asio::cancellation_type::total);
    test.test.runtime->run_ready();
    CHECK(test.result == make_error_code(asio::error::operation_aborted));
    REQUIRE(test.test.backend->readies.size() == 1);
    CHECK(test.test.backend->readies.front().request.abandoned());
    CHECK(test.test.backend->drops == 1);
    CHECK(test.test.runtime->timers() == 0);
}

TEST_CASE("closing a store ends the waits for it, and refuses new ones")
{
    Beginning test;
    test.wait(1h);
    std::optional<error_code> closed;
    test.test.store->async_close(5s, [&](error_code error) { closed = error; });
    test.test.runtime->run_ready();
    CHECK(closed == error_code());
    CHECK(test.result == make_error_code(errc::closed));
    test.result.reset();
    test.wait(1h);
    CHECK(test.result == make_error_code(errc::closed));
    CHECK(test.test.runtime->timers() == 0);
}

TEST_CASE("a wait keeps its store open when the last public object is gone")
{
    Beginning test;
    test.wait(1h);
    test.test.store.reset();
    test.test.runtime->run_for(5s);
    CHECK(test.test.backend->shutdowns == 0);
    test.answer(Ready{});
    CHECK(test.result == error_code());
    test.test.runtime->run_for(5s);
    CHECK(test.test.backend->shutdowns == 1);
}

TEST_CASE("a wait for a store that owns the store goes with its context")
{
    auto const alive = std::make_shared<int>(0);
    bool called = false;
    {
        asio::io_context context;
        auto const store = open_store(context, "redis://127.0.0.1:1");
        store.async_ready(1h, [store, alive, &called](error_code) { called = true; });
        context.run_for(20ms);
        CHECK(alive.use_count() == 2);
    }
    CHECK(alive.use_count() == 1);
    CHECK_FALSE(called);
}

TEST_CASE("stores are opened on a context as on its executor")
{
    asio::io_context context;
    std::optional<error_code> first;
    std::optional<error_code> second;
    auto const by_url = open_store(context, "memory://");
    auto const by_config = open_store(context, MemoryConfig{}, StoreOptions{.worker_name = "worker"});
    CHECK(by_url.get_executor() == context.get_executor());
    CHECK(by_config.worker_name() == "worker");
    by_url.async_ready(5s, [&](error_code error) { first = error; });
    by_config.async_ready(5s, [&](error_code error) { second = error; });
    CHECK_FALSE(first);
    context.run_for(1s);
    CHECK(first == error_code());
    CHECK(second == error_code());
}

TEST_CASE("a store on a pool of threads is ready")
{
    asio::thread_pool threads(2);
    auto const store = open_store(threads, MemoryConfig{});
    store.async_ready(5s, asio::use_future).get();
}

} // namespace tenure::test
