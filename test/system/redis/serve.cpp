// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service of async_serve over a server that refuses it, is away, or hangs.
#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/error.hpp>
#include <tenure/open_store.hpp>
#include <tenure/run.hpp>
#include <tenure/serve.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <string>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace asio = boost::asio;

namespace
{

/** A service with one session for each run of its work. */
struct Service {
    static constexpr auto drain = 300ms;
    static constexpr auto close_within = 400ms;
    /// what `async_serve` promises
    static constexpr auto longest_end = drain + close_within + 1s;
    /// the machine may be busy with other tests
    static constexpr auto patience = 3s;

    /** @param drains_for  of the service and of its session, which ends only by `terminal` */
    explicit Service(std::string const& url, std::chrono::milliseconds drains_for = drain)
        : store(open_store(context, url))
    {
        auto work = [this, drains_for](Slot&, TaskGroup& tasks) -> asio::awaitable<void> {
            tasks.set_drain(drains_for);
            tasks.spawn(session());
            serves = true;
            asio::steady_timer never(co_await asio::this_coro::executor, 1h);
            co_await never.async_wait(asio::deferred);
        };
        async_serve(
            store, {.drain = drains_for, .close_within = close_within}, async_run(pool, std::move(work)),
            asio::bind_cancellation_slot(stop.slot(), [this](std::exception_ptr error) {
                ended = true;
                failure = std::move(error);
            }));
    }

    asio::awaitable<void> session()
    {
        asio::steady_timer never(co_await asio::this_coro::executor, 1h);
        co_await never.async_wait(asio::deferred);
    }

    bool run_until(bool const& condition, std::chrono::milliseconds limit)
    {
        auto const deadline = std::chrono::steady_clock::now() + limit;
        while (!condition && std::chrono::steady_clock::now() < deadline)
            context.run_for(10ms);
        return condition;
    }

    asio::io_context context;
    Store store;
    SlotPool pool{store, {.prefix = "served:", .size = 1, .ttl = 3s}};
    asio::cancellation_signal stop;
    bool serves = false;
    bool ended = false;
    std::exception_ptr failure;
};

} // namespace

TEST_CASE("a service with a wrong password ends at once, with the server's words", "[integration]")
{
    require_redis();
    RedisServer const server{{.config = {"requirepass opensesame"}}};
    Service service("redis://:sesame12@127.0.0.1:" + std::to_string(server.port()));
    CHECK(service.run_until(service.ended, Service::patience));
    CHECK_FALSE(service.serves);
    REQUIRE(service.failure);
    try {
        std::rethrow_exception(service.failure);
    } catch (tenure::error const& thrown) {
        CHECK(thrown.code() == errc::authentication_failed);
        CHECK_THAT(thrown.what(), ContainsSubstring("WRONGPASS"));
        CHECK_THAT(thrown.what(), ContainsSubstring(std::to_string(server.port())));
        CHECK_THAT(thrown.what(), !ContainsSubstring("sesame"));
    }
}

TEST_CASE_METHOD(
    RedisTest, "a service whose store is away serves once it is back, and a signal ends it", "[integration]")
{
    server.kill();
    Service service(server.url());
    CHECK_FALSE(service.run_until(service.ended, 500ms));
    CHECK_FALSE(service.serves);
    SECTION("back")
    {
        server.start();
        CHECK(service.run_until(service.serves, 20s));
        CHECK_FALSE(service.ended);
    }
    SECTION("still away")
    {
    }
    service.stop.emit(asio::cancellation_type::total);
    CHECK(service.run_until(service.ended, Service::longest_end + Service::patience));
    CHECK_FALSE(service.failure);
    if (service.serves)
        CHECK(server.client().keys("served:*").empty());
}

TEST_CASE_METHOD(RedisTest, "a service ends in time although its store hangs", "[integration]")
{
    std::optional<Service> service;
    bool const serves = GENERATE(true, false);
    if (!serves)
        server.pause();
    service.emplace(server.url());
    CHECK(service->run_until(service->serves, serves ? 20s : 500ms) == serves);
    if (serves)
        server.pause();
    auto const begun = std::chrono::steady_clock::now();
    service->stop.emit(asio::cancellation_type::total);
    CHECK(service->run_until(service->ended, 20s));
    CHECK(std::chrono::steady_clock::now() - begun < Service::longest_end + Service::patience);
    CHECK_FALSE(service->failure);
    server.resume();
}

TEST_CASE_METHOD(RedisTest, "a service whose store hung serves when it answers again", "[integration]")
{
    server.pause();
    Service service(server.url());
    CHECK_FALSE(service.run_until(service.serves, 3s));
    CHECK_FALSE(service.ended);
    server.resume();
    CHECK(service.run_until(service.serves, 20s));
}

TEST_CASE_METHOD(RedisTest, "a second SIGTERM ends the drain of a service", "[integration]")
{
    Service service(server.url(), 10min);
    REQUIRE(service.run_until(service.serves, 20s));
    CHECK(std::raise(SIGTERM) == 0);
    CHECK_FALSE(service.run_until(service.ended, 300ms));
    CHECK(std::raise(SIGTERM) == 0);
    CHECK(service.run_until(service.ended, Service::close_within + 1s + Service::patience));
    CHECK_FALSE(service.failure);
    CHECK(server.client().keys("served:*").empty());
}
