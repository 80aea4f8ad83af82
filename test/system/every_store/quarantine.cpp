// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A waiter gets a number when its quarantine is over: reuse_after after the release, ttl and reuse_after after a death.
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

/// servers count whole milliseconds
constexpr auto rounding = 5ms;

struct QuarantineCase {
    std::string url;
    std::chrono::milliseconds ttl;
    std::chrono::milliseconds reuse_after;
    /// how much later than promised the store may free a key, and a waiter ask for it
    std::chrono::milliseconds slack;

    [[nodiscard]] SlotPool pool(Store const& store, std::string const& prefix) const
    {
        return {store, {.prefix = prefix, .size = 1, .ttl = ttl, .reuse_after = reuse_after}};
    }
};

/** Acquires, and dies without a word: its loop never runs again. */
void acquire_and_die(QuarantineCase const& store, std::string const& prefix)
{
    asio::io_context context;
    std::optional<Slot> slot;
    store.pool(open_store(context.get_executor(), store.url), prefix)
        .async_acquire([&](error_code error, Slot granted) {
            CHECK_FALSE(error);
            slot.emplace(std::move(granted));
            context.stop();
        });
    context.run();
    REQUIRE(slot);
}

void check_waiters(QuarantineCase const& store)
{
    RunningStore const waiter{store.url};
    {
        auto const pool = store.pool(waiter.store(), "released:");
        std::optional<RunningStore> holder{std::in_place, store.url};
        auto slot = RunningStore::acquire(store.pool(holder->store(), "released:"));
        auto waiting = pool.async_acquire({.wait = 60s}, asio::use_future);
        REQUIRE(eventually([&] { return waiter.store().statistics().waiting == 1; }));
        auto const before = Clock::now();
        CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
        auto const released = Clock::now();
        // the releasing process need not be there when the rest ends
        slot = {};
        holder.reset();
        auto next = soon(std::move(waiting));
        auto const granted = Clock::now();
        CHECK(granted - before >= store.reuse_after - rounding);
        CHECK(granted - released <= store.reuse_after + store.slack);
        RunningStore::release(next);
    }
    auto const before = Clock::now();
    acquire_and_die(store, "killed:");
    auto const died = Clock::now();
    auto next = RunningStore::acquire(store.pool(waiter.store(), "killed:"), {.wait = 60s});
    auto const granted = Clock::now();
    CHECK(granted - before >= store.ttl + store.reuse_after - rounding);
    CHECK(granted - died <= store.ttl + store.reuse_after + store.slack);
    RunningStore::release(next);
}

} // namespace

TEST_CASE_METHOD(RedisTest, "on Redis a waiter gets a number when its quarantine is over", "[redis][quarantine]")
{
    check_waiters({server.url(), 3s, 1500ms, 1s});
}

TEST_CASE_METHOD(
    EtcdTest, "on etcd a waiter gets a number when its quarantine is over, which counts whole seconds",
    "[etcd][quarantine]")
{
    check_waiters({server.url(), 3s, 2s, 2500ms});
}
