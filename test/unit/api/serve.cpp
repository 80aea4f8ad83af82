// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// async_serve: the end of a service.
#include "task_group_fixture.hpp"

#include <tenure/serve.hpp>
#include <tenure/stores/memory.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>

namespace tenure::test
{

namespace
{

constexpr std::array<int, 2> no_signals{0, 0};

/** A service over a scripted store, in virtual time. */
struct Served : ScriptedStore {
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    std::string words;
    std::vector<std::string> log;
    Gate gate;
    Gate draining_gate;

    Served() = default;
    ~Served()
    {
        for (int i = 0; i < 2; ++i)
            stop();
        gate.open();
        draining_gate.open();
        runtime->run_for(10s);
    }

    template <class... Operations>
    void start(ServeOptions options, Operations&&... operations)
    {
        options.signals = no_signals;
        async_serve(
            *store, options, std::forward<Operations>(operations)...,
            asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr failure) {
                Ending const ending(failure);
                result = ending.code;
                words = ending.words;
            }));
        runtime->run_ready();
    }
    void stop()
    {
        cancel.emit(CancelType::total);
        runtime->run_ready();
    }

    static asio::awaitable<void> plain(Served* self)
    {
        try {
            co_await self->gate.async_wait(asio::deferred);
            self->log.emplace_back("plain ended");
        } catch (boost::system::system_error const&) {
            self->log.emplace_back("plain cancelled");
            throw;
        }
    }
    static asio::awaitable<void> draining(Served* self)
    {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await asio::this_coro::throw_if_cancelled(false);
        auto const waited = co_await self->draining_gate.async_wait(asio::as_tuple(asio::deferred));
        self->log.emplace_back(std::get<0>(waited) ? "draining cancelled" : "draining ended");
    }
    static asio::awaitable<void> failing(Served* self)
    {
        co_await self->gate.async_wait(asio::deferred);
        throw std::runtime_error("cannot serve");
    }
    static asio::awaitable<void> stuck(Served* self)
    {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await self->gate.async_wait(asio::deferred);
    }
};

using Log = std::vector<std::string>;

} // namespace

TEST_CASE("a service whose operations have all ended closes the store, without a failure")
{
    Served test;
    test.start({}, Served::plain(&test), [&] { return Served::plain(&test); });
    CHECK_FALSE(test.result);
    test.gate.open();
    test.runtime->run_ready();
    CHECK(test.log == Log{"plain ended", "plain ended"});
    CHECK(test.result == error_code());
    CHECK(test.backend->shutdowns == 1);
}

TEST_CASE("the first failure ends the other operations, and is the result")
{
    Served test;
    test.start({}, Served::failing(&test), Served::draining(&test));
    test.gate.open();
    test.runtime->run_ready();
    CHECK(test.log == Log{"draining cancelled"});
    CHECK(test.words == "cannot serve");
    CHECK(test.backend->shutdowns == 1);
}

TEST_CASE("at the end operations get total, after the drain terminal, and a service that was stopped has not failed")
{
    Served test;
    test.start({.drain = 2s}, Served::draining(&test), Served::plain(&test));
    test.stop();
    CHECK(test.log == Log{"draining cancelled"});
    test.runtime->run_for(1990ms);
    CHECK_FALSE(test.result);
    test.runtime->run_for(10ms);
    CHECK(test.log == Log{"draining cancelled", "plain cancelled"});
    CHECK(test.result == error_code());
}

TEST_CASE("a second signal ends the drain")
{
    Served test;
    test.start({.drain = 1min}, Served::plain(&test));
    test.stop();
    CHECK(test.log.empty());
    test.stop();
    CHECK(test.log == Log{"plain cancelled"});
    CHECK(test.result == error_code());
}

TEST_CASE("a service ends a second after terminal, although an operation ignores its cancellation")
{
    Served test;
    test.start({.drain = 2s}, Served::stuck(&test));
    test.stop();
    test.runtime->run_for(2990ms);
    CHECK_FALSE(test.result);
    test.runtime->run_for(10ms);
    CHECK(test.result == error_code());
    CHECK(test.runtime->logged("1 of its operations ignore their cancellation"));
    test.gate.open();
    test.runtime->run_ready();
}

TEST_CASE("a wrong password ends a service at once, with the server's words")
{
    Served test;
    SlotPool const pool(*test.store, {.prefix = "pool:", .size = 4, .ttl = 5s});
    test.start({.drain = 1min}, async_run(pool, [](Slot&) -> asio::awaitable<void> { co_return; }));
    REQUIRE(test.backend->claims.size() == 1);
    test.backend->answer(
        test.backend->claims,
        Failure::refused(make_error_code(errc::authentication_failed), "WRONGPASS invalid username", true));
    test.runtime->run_ready();
    CHECK(test.result == make_error_code(errc::authentication_failed));
    CHECK(test.words.find("WRONGPASS") != std::string::npos);
}

TEST_CASE("a service waits for a store that is unavailable, and ends at a signal while it waits")
{
    Served test;
    SlotPool const pool(*test.store, {.prefix = "pool:", .size = 4, .ttl = 5s});
    test.start({.drain = 1min}, async_run(pool, [](Slot&) -> asio::awaitable<void> { co_return; }));
    bool const hangs = GENERATE(false, true);
    for (int i = 0; i < 100; ++i) {
        test.runtime->run_for(1s);
        if (!hangs && !test.backend->claims.empty())
            test.backend->answer(
                test.backend->claims,
                Failure::not_sent(make_error_code(errc::store_unavailable), "connection refused"));
    }
    CHECK_FALSE(test.result);
    test.stop();
    test.runtime->run_for(6s);
    CHECK(test.result == error_code());
}

TEST_CASE("a service with leases releases them before the store is closed")
{
    Served test;
    SlotPool const pool(*test.store, {.prefix = "pool:", .size = 4, .ttl = 5s});
    // the service has no drain, which also ends that of the group
    auto const drain = GENERATE(0ms, 60'000ms);
    auto const work = [&](Slot&, TaskGroup& tasks) -> asio::awaitable<void> {
        tasks.set_drain(drain);
        tasks.spawn(Served::plain(&test), asio::detached);
        co_await test.gate.async_wait(asio::deferred);
    };
    test.start({}, async_run(pool, work));
    test.backend->answer(test.backend->claims, test.grant(5s));
    test.runtime->run_ready();
    test.stop();
    CHECK(test.log == Log{"plain cancelled"});
    CHECK_FALSE(test.result);
    REQUIRE(test.backend->releases.size() == 1);
    test.backend->answer(test.backend->releases, Released{});
    test.runtime->run_ready();
    CHECK(test.result == error_code());
}

TEST_CASE("SIGTERM ends a service")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{});
    SlotPool const pool(store, {.prefix = "pool:", .size = 4, .ttl = 5s});
    bool began = false;
    auto const work = [&](Slot& slot) -> asio::awaitable<void> {
        began = true;
        std::raise(SIGTERM);
        co_await slot.token().async_wait();
    };
    std::optional<std::exception_ptr> result;
    async_serve(store, {}, async_run(pool, work), [&](std::exception_ptr failure) { result = failure; });
    context.run_for(10s);
    CHECK(context.stopped());
    CHECK(began);
    REQUIRE(result);
    CHECK(*result == nullptr);
}

TEST_CASE("async_serve is awaited with default options in a coroutine")
{
    asio::io_context context;
    auto const store = open_store(context, MemoryConfig{});
    bool served = false;
    auto const main = [&]() -> asio::awaitable<void> {
        co_await async_serve(store, {.drain = 1s, .signals = no_signals}, [&]() -> asio::awaitable<void> {
            served = true;
            co_return;
        });
    };
    bool ended = false;
    asio::co_spawn(context, main, [&](std::exception_ptr failure) { ended = !failure; });
    context.run_for(10s);
    CHECK(served);
    CHECK(ended);
    CHECK(context.stopped());
}

} // namespace tenure::test
