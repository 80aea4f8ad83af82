// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Leases on one etcd: what the holder is told, what the server is left with, and the clause for transactions of one's
// own.
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "harness/fault_proxy.hpp"
#include "system/support/running_store.hpp"

#include "store/etcd/http/base64.hpp"
#include "store/etcd/http/messages.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

std::optional<etcd::KeyValue> entry_of(EtcdServer const& server, std::string const& key)
{
    auto const reply = etcd::parse_range(etcd_post(server.port(), "kv/range", etcd::range_body({key, {}}, {})));
    if (!reply)
        throw std::runtime_error("etcd does not answer");
    return reply->found.empty() ? std::nullopt : std::optional(reply->found.front());
}

/** How many leases the server has. */
std::size_t leases_on(EtcdServer const& server)
{
    auto const text = etcd_post(server.port(), "lease/leases", "{}");
    std::size_t count = 0;
    for (auto at = text.find("\"ID\":"); at != std::string::npos; at = text.find("\"ID\":", at + 1))
        ++count;
    return count;
}

std::string url_of(FaultProxy const& proxy)
{
    return "etcd://127.0.0.1:" + std::to_string(proxy.port());
}

} // namespace

TEST_CASE_METHOD(
    EtcdTest, "a lease on etcd is held for longer than its ttl, and leaves neither key nor lease behind", "[etcd]")
{
    {
        RunningStore running{server.url()};
        auto const pool = running.pool(3, 2500ms);
        auto slot = RunningStore::acquire(pool);
        FiredAt fired{slot.token()};
        CHECK_FALSE(fired.wait(5500ms));
        CHECK(slot.valid());
        auto const entry = entry_of(server, pool.range()->key(0));
        REQUIRE(entry);
        CHECK(entry->create_revision == slot.fencing_token());
        CHECK(running.store().statistics().renewals_failed == 0);
        CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
        CHECK_FALSE(entry_of(server, pool.range()->key(0)));
        // its lease is revoked when no claim has taken it for half its ttl
        CHECK(eventually([&] { return leases_on(server) == 0; }, 5s));
    }
}

TEST_CASE_METHOD(EtcdTest, "leases do not pile up on the server while claims come and go", "[etcd]")
{
    RunningStore running{server.url()};
    auto const lock = running.lock("busy", 8s);
    std::size_t most = 0;
    for (int i = 0; i < 100; ++i) {
        auto lease = RunningStore::acquire(lock);
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        if (i % 10 == 0)
            most = std::max(most, leases_on(server));
    }
    CHECK(most <= 3);
    CHECK(eventually([&] { return leases_on(server) == 0; }, 10s));
}

TEST_CASE_METHOD(EtcdTest, "a holder that loses its etcd lease or key is notified at the next renewal", "[etcd]")
{
    RunningStore running{server.url()};
    auto const lose = [&](std::string const& key, auto const& how) {
        auto lease = RunningStore::acquire(running.lock(key, 6s));
        FiredAt fired{lease.token()};
        how(*entry_of(server, key));
        auto const told = fired.wait(4s);
        CHECK(told);
        CHECK(lease.token().reason() == CancelReason::not_owner);
        CHECK_FALSE(lease.valid());
    };
    SECTION("revoked")
    {
        lose("revoked", [&](etcd::KeyValue const& entry) {
            (void)etcd_post(server.port(), "lease/revoke", etcd::lease_body(entry.lease));
        });
    }
    SECTION("deleted")
    {
        lose("deleted", [&](etcd::KeyValue const&) { REQUIRE(etcdctl(server.port(), {"del", "deleted"}) == "1\n"); });
    }
    SECTION("overwritten, and the thief keeps it")
    {
        lose("stolen", [&](etcd::KeyValue const&) {
            REQUIRE(etcdctl(server.port(), {"put", "stolen", "a thief"}) == "OK\n");
        });
        CHECK(entry_of(server, "stolen")->value == "a thief");
    }
    SECTION("written anew by a thief under the very lease")
    {
        lose("rewritten", [&](etcd::KeyValue const&) {
            REQUIRE(etcdctl(server.port(), {"put", "--ignore-lease", "rewritten", "a thief"}) == "OK\n");
        });
    }
}

TEST_CASE_METHOD(
    EtcdTest, "the key and the fencing token make a clause that holds exactly as long as the lease does", "[etcd]")
{
    RunningStore running{server.url()};
    auto const lock = running.lock("jobs:nightly", 10s);
    auto lease = RunningStore::acquire(lock);
    auto const write = [&](Lease const& held, std::string const& result) {
        // lease 0: none
        auto const body =
            etcd::Transaction().if_created_at(held.key(), held.fencing_token()).then_put("result", result, 0).body();
        return etcd::parse_transaction(etcd_post(server.port(), "kv/txn", body)).value().succeeded;
    };
    CHECK(write(lease, "first"));
    soon(lease.async_renew(as_future));
    CHECK(write(lease, "after a renewal"));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK_FALSE(write(lease, "after the release"));
    auto next = RunningStore::acquire(lock);
    CHECK(next.fencing_token() > lease.fencing_token());
    CHECK_FALSE(write(lease, "under somebody else's lease"));
    CHECK(write(next, "second"));
    CHECK(entry_of(server, "result")->value == "second");
}

TEST_CASE_METHOD(EtcdTest, "a renewal with another ttl moves the key to a lease that has it", "[etcd]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("key", 3s));
    auto const before = entry_of(server, "key").value();
    auto const token = lease.fencing_token();
    auto const [error] = soon(lease.async_renew(60s, as_future));
    CHECK_FALSE(error);
    CHECK(lease.valid_until() > Clock::now() + 50s);
    auto const after = entry_of(server, "key").value();
    CHECK(after.lease != before.lease);
    CHECK(after.create_revision == token);
    CHECK(eventually([&] { return leases_on(server) == 1; }, 5s));
    auto const [again] = soon(lease.async_renew(as_future));
    CHECK_FALSE(again);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK_FALSE(entry_of(server, "key"));
}

TEST_CASE_METHOD(
    EtcdTest, "a waiter on etcd wakes when the key is released, and when its holder's lease ends", "[etcd]")
{
    RunningStore holder{server.url()};
    RunningStore waiter{server.url()};
    auto lease = RunningStore::acquire(holder.lock("key", 30s));
    auto const holding = entry_of(server, "key").value();
    auto waiting = waiter.lock("key", 30s).async_acquire({.wait = 30s}, as_future);
    // it has asked, and watches
    CHECK(waiting.wait_for(1500ms) == std::future_status::timeout);
    auto const begin = std::chrono::steady_clock::now();
    SECTION("released")
    {
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    }
    SECTION("the watch was compacted away before")
    {
        REQUIRE_FALSE(etcdctl(server.port(), {"put", "other", "1"}).empty());
        REQUIRE_FALSE(etcdctl(server.port(), {"compaction", std::to_string(holding.mod_revision + 1)}).empty());
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    }
    SECTION("revoked by a person")
    {
        (void)etcd_post(server.port(), "lease/revoke", etcd::lease_body(holding.lease));
    }
    auto [error, next] = within(10s, std::move(waiting));
    CHECK_FALSE(error);
    CHECK(next.valid());
    // far below the longest pause between two looks of a waiter without hints
    CHECK(std::chrono::steady_clock::now() - begin < 3s);
    CHECK(RunningStore::release(next) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(EtcdTest, "a waiter wakes although its server restarts or its watch breaks", "[etcd]")
{
    FaultProxy proxy{server.port()};
    RunningStore holder{server.url()};
    RunningStore waiter{url_of(proxy)};
    auto lease = RunningStore::acquire(holder.lock("key", 60s));
    auto waiting = waiter.lock("key", 30s).async_acquire({.wait = 40s}, as_future);
    CHECK(waiting.wait_for(1s) == std::future_status::timeout);
    SECTION("restart")
    {
        server.restart();
    }
    SECTION("every connection is reset, and the release happens meanwhile")
    {
        proxy.reset_connections();
    }
    CHECK(lease.valid());
    CHECK(eventually([&] { return RunningStore::release(lease) == ReleaseOutcome::released; }));
    auto [error, next] = within(15s, std::move(waiting));
    CHECK_FALSE(error);
    CHECK(RunningStore::release(next) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(
    EtcdTest, "a server that stops for less than the ttl costs no lease, and one that stays away costs it in time",
    "[etcd]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("key", 6s));
    FiredAt fired{lease.token()};
    server.pause();
    CHECK_FALSE(fired.wait(2500ms));
    server.resume();
    auto const valid_until = lease.valid_until();
    CHECK(eventually([&] { return lease.valid_until() > valid_until; }));
    CHECK_FALSE(lease.token().cancelled());

    server.restart();
    CHECK(eventually([&, before = lease.valid_until()] { return lease.valid_until() > before; }));
    CHECK_FALSE(lease.token().cancelled());

    server.kill();
    auto const told = fired.wait(10s);
    REQUIRE(told);
    CHECK(*told < nanoseconds(lease.valid_until()));
    CHECK(lease.token().reason() == CancelReason::expired);
    server.start();
    CHECK(RunningStore::acquire_error(running.lock("other", 6s), {.wait = 10s}) == error_code{});
}

TEST_CASE_METHOD(
    EtcdTest, "a waiter that was cut off while its own claim lapsed never believes in a key that is not there",
    "[etcd]")
{
    RunningStore holder{server.url()};
    constexpr int times = 20;
    struct Waiter {
        explicit Waiter(EtcdServer const& server)
            : proxy(server.port())
            , running(url_of(proxy))
        {
        }
        FaultProxy proxy;
        RunningStore running;
        Lease held;
        std::future<std::tuple<error_code, Lease>> waiting;
    };
    std::list<Waiter> waiters;
    for (int i = 0; i < times; ++i) {
        auto const key = "key:" + std::to_string(i);
        auto& waiter = waiters.emplace_back(server);
        waiter.held = RunningStore::acquire(holder.lock(key, 60s));
        waiter.waiting = waiter.running.lock(key, 2s).async_acquire({.wait = 60s}, as_future);
    }
    for (auto& waiter : waiters)
        CHECK(waiter.waiting.wait_for(100ms) == std::future_status::timeout);
    // requests that they send in five seconds, two and a half of their ttls, arrive after that time
    for (auto& waiter : waiters)
        waiter.proxy.set(Direction::requests, {Fault::Kind::hold});
    std::this_thread::sleep_for(5s);
    for (auto& waiter : waiters)
        CHECK(RunningStore::release(waiter.held) == ReleaseOutcome::released);
    for (auto& waiter : waiters)
        waiter.proxy.heal();
    for (auto& waiter : waiters) {
        auto [error, lease] = soon(std::move(waiter.waiting));
        REQUIRE_FALSE(error);
        // looked at between two looks at the clock, both of which say that it is held
        bool const before = lease.valid();
        auto const entry = entry_of(server, lease.key());
        if (before && lease.valid()) {
            REQUIRE(entry);
            CHECK(entry->create_revision == lease.fencing_token());
        }
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    }
}
