// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// When tokens fire on a real server that stops, or whose key changes hands (S2, S4, S5, S6, L2).
#include "harness/auditor.hpp"
#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto timed_ttl = 1500ms;
constexpr auto key = "token-timing";

/** Waits until a renewal has just succeeded. */
[[nodiscard]] bool renewed(tenure::LeaseLike auto const& lease)
{
    auto const before = lease.valid_until();
    return eventually([&] { return lease.valid_until() > before; }, 10s, 1ms);
}

/** Looks at the key's expiry every 5 ms for a while, and returns the last value in ns of CLOCK_BOOTTIME. */
std::int64_t watch_expiry(RedisClient& redis, std::chrono::milliseconds time, tenure::LeaseLike auto const& lease)
{
    auto const end = boottime_ns() + std::chrono::nanoseconds{time}.count();
    std::int64_t expiry = 0;
    do {
        auto const valid_until = nanoseconds(lease.valid_until());
        expiry = redis.pexpiretime(key) * 1'000'000 - wall_clock_offset();
        // S2, all the time: read before the store's expiry, which only grows
        CHECK(valid_until < expiry);
        std::this_thread::sleep_for(5ms);
    } while (boottime_ns() < end);
    return expiry;
}

/** Keeps all cores busy. */
class Load : Immovable
{
public:
    explicit Load(unsigned threads)
    {
        for (unsigned i = 0; i < threads; ++i)
            threads_.emplace_back([this] {
                while (!ended_) {
                }
            });
    }
    ~Load()
    {
        ended_ = true;
        for (auto& thread : threads_)
            thread.join();
    }

private:
    std::atomic<bool> ended_ = false;
    std::vector<std::thread> threads_;
};

} // namespace

TEST_CASE_METHOD(RunningStoreTest, "a token fires in time when the server stands still", "[integration]")
{
    auto const lock = running.lock(key, timed_ttl);

    // early and late between two renewals, idle and with more work than cores
    auto const phase = GENERATE(20ms, 400ms);
    auto const busy = GENERATE(0U, 4U);
    CAPTURE(phase.count(), busy);
    auto lease = RunningStore::acquire(lock);
    FiredAt fired{lease.token()};
    REQUIRE(renewed(lease));
    Load const load{busy};
    auto const expiry = watch_expiry(redis, phase, lease);
    auto const promised = nanoseconds(lease.stop_at());
    server.pause();

    auto const at = fired.wait(10s);
    server.resume();
    REQUIRE(at);
    auto const lateness = *at - promised;
    WARN(
        "server stopped " << phase.count() << " ms after a renewal, " << busy << " busy threads: token fired "
                          << in_milliseconds(lateness) << " ms after valid_until - notice, "
                          << in_milliseconds(expiry - *at) << " ms before the key's expiry");
    CHECK(*at < expiry);
    CHECK(in_milliseconds(lateness) > -1);
    if (busy == 0)
        CHECK(in_milliseconds(lateness) < (long_form() ? 20 : 60));
    CHECK(lease.token().cancelled());
    CHECK(lease.token().reason() == CancelReason::expired);
    CHECK(lease.state() == LeaseState::lost);
    // the remaining time is the notice: the time the work has to stop
    CHECK(eventually([&] { return !lease.valid(); }));
    CHECK(nanoseconds(Clock::now()) > nanoseconds(lease.valid_until()));
}

TEST_CASE_METHOD(RedisTest, "a lease is at risk, and then lost, when renewals stay unanswered", "[integration]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock(key, timed_ttl));
    FiredAt fired{lease.token()};
    auto at_risk = lease.async_wait_at_risk(as_future);
    CHECK(lease.state() == LeaseState::held);
    server.pause();
    auto const [error] = soon(std::move(at_risk));
    CHECK_FALSE(error);
    CHECK(lease.valid());
    CHECK(lease.state() == LeaseState::at_risk);
    CHECK_FALSE(lease.token().cancelled());

    SECTION("the token fires if the server stays away, once and for good")
    {
        REQUIRE(fired.wait(10s));
        server.resume();
        // a renewal that was written before may be answered now; it changes nothing
        CHECK(std::get<0>(soon(lease.async_wait_at_risk(as_future))) == errc::lease_lost);
        auto const valid_until = lease.valid_until();
        auto again = RunningStore::acquire(running.lock(key, timed_ttl));
        CHECK(again.valid());
        CHECK(lease.valid_until() == valid_until);
        CHECK(lease.token().cancelled());
        CHECK(running.store().statistics().lost[CancelReason::expired] == 1);
        RunningStore::release(again);
    }
    SECTION("it is held again if the server comes back in time")
    {
        server.resume();
        CHECK(eventually([&] { return lease.state() == LeaseState::held; }));
        CHECK_FALSE(lease.token().cancelled());
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        CHECK(fired.wait(1s));
        CHECK(lease.token().reason() == CancelReason::released);
        CHECK(running.store().statistics().lost[CancelReason::expired] == 0);
    }
}

TEST_CASE_METHOD(RedisTest, "a server that stands still for a quarter of the ttl costs nothing", "[integration]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock(key, timed_ttl));
    for (int stop = 0; stop < 4; ++stop) {
        REQUIRE(renewed(lease));
        std::this_thread::sleep_for(stop * timed_ttl / 10);
        server.pause();
        std::this_thread::sleep_for(timed_ttl / 4);
        server.resume();
        REQUIRE(renewed(lease));
        CHECK(lease.valid());
        CHECK_FALSE(lease.token().cancelled());
    }
    CHECK(running.store().statistics().lost[CancelReason::expired] == 0);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK_FALSE(server.client().get(key));
}

TEST_CASE_METHOD(
    RunningStoreTest, "a key that was deleted or overwritten fires the token at the next renewal", "[integration]")
{
    auto lease = RunningStore::acquire(running.lock(key, timed_ttl));
    FiredAt fired{lease.token()};
    bool const overwritten = GENERATE(false, true);
    CAPTURE(overwritten);
    REQUIRE(renewed(lease));

    if (overwritten)
        redis.call("SET", key, "thief", "PX", 60'000);
    else
        redis.call("DEL", key);
    auto const since = boottime_ns();
    auto const at = fired.wait(10s);
    REQUIRE(at);
    WARN(
        (overwritten ? "overwritten" : "deleted") << ": token fired after " << in_milliseconds(*at - since)
                                                  << " ms, ttl/3 is " << (timed_ttl / 3).count() << " ms");
    // one interval between renewals (its jitter shortens it), one round trip, and what a loaded machine takes
    CHECK(in_milliseconds(*at - since) < static_cast<double>((timed_ttl / 3).count()) + 100);
    CHECK(lease.token().reason() == CancelReason::not_owner);
    CHECK_FALSE(lease.valid());
    CHECK(RunningStore::release(lease) == ReleaseOutcome::was_lost);
    if (overwritten) {
        CHECK(redis.get(key) == "thief");
        CHECK(redis.pttl(key) > 50'000);
    } else {
        CHECK_FALSE(redis.get(key));
    }
}

TEST_CASE_METHOD(RedisTest, "a lease may ask for the token at the first renewal that fails", "[integration]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock(key, timed_ttl, {.cancel_when = CancelWhen::first_failed_renewal}));
    FiredAt fired{lease.token()};
    REQUIRE(renewed(lease));
    auto const renewed_at = boottime_ns();
    server.pause();
    auto const at = fired.wait(10s);
    server.resume();
    REQUIRE(at);
    CHECK(lease.token().reason() == CancelReason::first_failed_renewal);
    // the next renewal leaves after ttl/3 at most and is given up after ttl/6
    CHECK(in_milliseconds(*at - renewed_at) < static_cast<double>((timed_ttl / 2).count()) + 150);
}
