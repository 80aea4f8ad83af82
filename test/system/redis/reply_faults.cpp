// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Replies that come late, or never (S3, S4, S9).
#include "harness/auditor.hpp"
#include "harness/eventually.hpp"
#include "harness/fault_proxy.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

/** A server behind a proxy, and a store whose connection is up. */
struct Network {
    RedisServer server;
    FaultProxy proxy{server.port()};
    RedisClient redis = server.client();
    RunningStore running{proxy.url()};

    Network()
    {
        // the server knows the scripts of locks and pools from then on
        auto lease = RunningStore::acquire(running.lock("warm-up", 1min));
        RunningStore::release(lease);
        auto slot = RunningStore::acquire(SlotPool{running.store(), {.prefix = "warm-up:", .size = 4, .ttl = 1min}});
        RunningStore::release(slot);
    }
};

} // namespace

TEST_CASE("time counts from before the request, however late the reply", "[integration]")
{
    require_redis();
    Network network;
    auto const delay = GENERATE(2000ms, 700ms);
    auto const ttl = 3000ms;
    network.proxy.set(Direction::replies, {.delay = delay});
    auto const begin = boottime_ns();
    auto lease = RunningStore::acquire(network.running.lock("late", ttl), {.wait = 15s});
    auto const now = boottime_ns();
    auto const remaining = nanoseconds(lease.valid_until()) - now;

    // G(1 - drift) - margin - d
    auto const most = (ttl * 99 / 100 - 10ms - delay).count();
    WARN(
        "reply delayed by " << delay.count() << " ms: granted after " << in_milliseconds(now - begin) << " ms with "
                            << in_milliseconds(remaining) << " ms left, at most " << most << " allowed");
    CHECK(in_milliseconds(now - begin) >= static_cast<double>(delay.count()));
    CHECK(in_milliseconds(remaining) <= static_cast<double>(most));
    CHECK(lease.valid());
    auto const expiry = network.redis.pexpiretime("late") * 1'000'000 - wall_clock_offset();
    CHECK(nanoseconds(lease.valid_until()) < expiry);
}

TEST_CASE("a reply that comes too late to be used is given back", "[integration]")
{
    require_redis();
    Network network;
    network.proxy.set(Direction::replies, {.delay = 600ms});
    auto const error = RunningStore::acquire_error(network.running.lock("too-late", 500ms), {.wait = 1500ms});
    CHECK(error);
    CHECK(error != asio::error::operation_aborted);
    network.proxy.heal();
    CHECK(eventually([&] { return !network.redis.get("too-late"); }, 5s));
}

TEST_CASE("a lost reply and a cancelled acquire leave nothing once the connection is back", "[integration]")
{
    require_redis();
    Network network;
    // nothing expires during this test
    auto const ttl = 60s;
    bool const pool = GENERATE(false, true);
    bool const lost = GENERATE(true, false);
    CAPTURE(pool, lost);
    std::string const key = pool ? "thread_id_lock:0" : "lost-reply";
    network.proxy.set_when(
        Direction::requests, pool ? "thread_id_lock:" : key, Direction::replies,
        {.kind = lost ? Fault::Kind::drop : Fault::Kind::hold});

    asio::cancellation_signal cancel;
    auto const start = [&](auto const& lockable) {
        return lockable.async_acquire(asio::bind_cancellation_slot(cancel.slot(), as_future));
    };
    auto const check = [&](auto pending) {
        REQUIRE(network.proxy.wait_seen());
        REQUIRE(eventually([&] { return network.redis.get(key).has_value(); }));
        asio::dispatch(network.running.executor(), [&] { cancel.emit(asio::cancellation_type::total); });
        // the caller is told at once, while the answer is still out
        CHECK(std::get<0>(within(2s, std::move(pending))) == asio::error::operation_aborted);
        CHECK(network.redis.get(key).has_value());

        auto const before = network.proxy.connections();
        network.proxy.heal();
        if (lost)
            network.proxy.reset_connections();
        auto const healed = boottime_ns();
        if (lost)
            REQUIRE(eventually([&] { return network.proxy.connections() > before; }, 10s, 1ms));
        auto const back = boottime_ns();
        REQUIRE(eventually([&] { return !network.redis.get(key); }, 10s, 1ms));
        auto const gone = boottime_ns();
        WARN(
            (pool ? "pool" : "lock") << ", reply " << (lost ? "lost" : "held") << ": connected again "
                                     << in_milliseconds(back - healed) << " ms after the network healed, free "
                                     << in_milliseconds(gone - back) << " ms later");
        // a handshake and a round trip on loopback
        CHECK(in_milliseconds(gone - back) < 250);
        // only a grant that arrived is known to be one
        if (!lost)
            CHECK(eventually([&] { return network.running.store().statistics().given_back == 1; }));
    };
    if (pool)
        check(start(network.running.pool(4, ttl)));
    else
        check(start(network.running.lock(key, ttl)));
    CHECK(network.running.store().statistics().cancelled == 1);
}

TEST_CASE("a lost reply is answered by asking again, and takes one slot only", "[integration]")
{
    require_redis();
    Network network;
    auto const pool = network.running.pool(4, 10s);
    network.proxy.set_when(Direction::requests, "thread_id_lock:", Direction::replies, {.kind = Fault::Kind::drop});
    auto pending = pool.async_acquire(as_future);
    REQUIRE(network.proxy.wait_seen());
    REQUIRE(eventually([&] { return network.redis.get("thread_id_lock:0").has_value(); }));
    auto const claimed_at_most = network.redis.pexpiretime("thread_id_lock:0") * 1'000'000 - wall_clock_offset();
    network.proxy.heal();
    network.proxy.reset_connections();
    auto [error, slot] = soon(std::move(pending));
    REQUIRE_FALSE(error);
    CHECK(slot.id() == 0);
    CHECK(network.redis.get("thread_id_lock:0") == slot.owner());
    CHECK(network.redis.keys("thread_id_lock:*").size() == 1);
    auto const expiry = network.redis.pexpiretime("thread_id_lock:0") * 1'000'000 - wall_clock_offset();
    CHECK(expiry >= claimed_at_most);
    CHECK(nanoseconds(slot.valid_until()) < expiry);
    CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    CHECK(network.redis.keys("thread_id_lock:*").empty());
}

TEST_CASE("renewals without an answer never extend validity", "[integration]")
{
    require_redis();
    Network network;
    auto lease = RunningStore::acquire(network.running.lock("unanswered", 1500ms));
    FiredAt fired{lease.token()};
    // both flows live on, and every renewal takes effect, but no answer comes back
    network.proxy.set(Direction::replies, {.kind = Fault::Kind::drop});
    auto const valid_until = nanoseconds(lease.valid_until());
    auto const at = fired.wait(10s);
    REQUIRE(at);
    // one answer may have been under way when the replies ended
    CHECK(nanoseconds(lease.valid_until()) <= valid_until + 600'000'000);
    CHECK(*at < nanoseconds(lease.valid_until()));
    CHECK(network.redis.get("unanswered").has_value());
    network.proxy.heal();
    network.proxy.reset_connections();
}

TEST_CASE("a release whose reply is lost is finished in the background", "[integration]")
{
    require_redis();
    Network network;
    auto lease = RunningStore::acquire(network.running.lock("release", 60s));
    bool const arrives = GENERATE(true, false);
    CAPTURE(arrives);
    if (arrives)
        network.proxy.set(Direction::replies, {.kind = Fault::Kind::drop});
    else
        network.proxy.set(Direction::requests, {.kind = Fault::Kind::drop});
    auto pending = lease.async_release(as_future);
    if (arrives)
        REQUIRE(eventually([&] { return !network.redis.get("release"); }));
    network.proxy.heal();
    network.proxy.reset_connections();
    auto const [error, outcome] = soon(std::move(pending));
    CHECK_FALSE(error);
    CHECK(outcome != ReleaseOutcome::was_lost);
    CHECK(eventually([&] { return !network.redis.get("release"); }));
}

TEST_CASE("connections that break again and again cost no lease", "[integration]")
{
    require_redis();
    Network network;
    auto lease = RunningStore::acquire(network.running.lock("resets", 2s));
    auto const valid_until = lease.valid_until();
    auto const end = boottime_ns() + 4'000'000'000;
    for (std::size_t bytes = 1; boottime_ns() < end; bytes = (bytes + 37) % 300) {
        // breaks in the middle of handshakes, requests and replies
        network.proxy.set(bytes % 2 == 0 ? Direction::replies : Direction::requests, {.reset_after = bytes});
        std::this_thread::sleep_for(50ms);
        network.proxy.heal();
        std::this_thread::sleep_for(100ms);
    }
    CHECK(lease.valid_until() > valid_until + 2s);
    CHECK_FALSE(lease.token().cancelled());
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK(eventually([&] { return !network.redis.get("resets"); }));
}
