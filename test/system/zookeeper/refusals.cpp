// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages to a user whose ZooKeeper server is unavailable, ends the session or refuses the login.
#include "harness/documented.hpp"
#include "harness/eventually.hpp"
#include "harness/zookeeper_server.hpp"
#include "system/support/running_store.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/// twenty ticks of the servers here
constexpr auto refused_ttl = 2000ms;

[[nodiscard]] std::string with_login(std::string url, std::string const& login)
{
    return url.insert(url.find("//") + 2, login + "@");
}

/** The message for a claim that ends within `wait`. */
[[nodiscard]] std::string refusal(RunningStore& running, std::string const& key, errc expected)
{
    CHECK(RunningStore::acquire_error(running.lock(key, refused_ttl), {.wait = 1500ms}) == expected);
    return running.store().diagnostics().last_detail;
}

} // namespace

TEST_CASE("ZooKeeper refuses the connection", "[zookeeper]")
{
    require_zookeeper();
    RunningStore running{"zookeeper://127.0.0.1:1/app?tick=100ms&shortest_ttl=1s"};
    CHECK(documented(refusal(running, "wanted", errc::store_unavailable)));
    RunningStore nameless{"zookeeper://no-such-host.invalid/app?tick=100ms&shortest_ttl=1s"};
    CHECK_THAT(
        refusal(nameless, "wanted", errc::store_unavailable),
        ContainsSubstring("zookeeper://no-such-host.invalid:2181/app: not connected: cannot resolve"));
}

TEST_CASE("a server that allows no more connections is told from one that is unavailable", "[zookeeper]")
{
    require_zookeeper();
    ZookeeperServer const server{{.config = {"maxClientCnxns=1"}}};
    RunningStore running{server.url()};
    // each ttl has a session of its own
    std::vector<Lease> held;
    std::string detail;
    for (auto ttl = refused_ttl; detail.empty() && held.size() < 10; ttl += 100ms) {
        auto [error, lease] =
            soon(running.lock("with-" + std::to_string(ttl.count()), ttl).async_acquire({.wait = 1500ms}, as_future));
        if (error)
            detail = running.store().diagnostics().last_detail;
        else
            held.push_back(std::move(lease));
    }
    CHECK_FALSE(held.empty());
    CHECK_THAT(detail, ContainsSubstring("raise its maxClientCnxns"));
    CHECK(documented(detail));
    for (auto const& lease : held)
        CHECK_FALSE(lease.token().cancelled());
}

TEST_CASE("ZooKeeper has no quarantine, and a pool that asks for one is refused before any I/O", "[zookeeper]")
{
    asio::io_context context;
    auto const store = open_store(context.get_executor(), "zookeeper://127.0.0.1:1?tick=100ms");
    try {
        SlotPool{store, {.size = 2, .ttl = 1s, .reuse_after = 5s}};
        FAIL("nothing was refused");
    } catch (std::invalid_argument const& error) {
        CHECK(documented(error.what()));
    }
    CHECK_NOTHROW(SlotPool{store, {.size = 2, .ttl = 1s}});
}

TEST_CASE_METHOD(
    ZookeeperTest, "ZooKeeper cannot keep a key without its holder: a detachment is refused, and the lease goes on",
    "[zookeeper]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("nightly", refused_ttl));
    CHECK(std::get<0>(soon(lease.async_detach(1min, as_future))) == std::errc::operation_not_supported);
    CHECK(documented(running.store().diagnostics().last_detail));
    CHECK_THROWS_AS(running.store().check_detach(1min), std::invalid_argument);
    CHECK(lease.valid());
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE("an endless wait for an unavailable ZooKeeper keeps no thread busy", "[zookeeper]")
{
    asio::io_context context;
    auto const store = open_store(context.get_executor(), "zookeeper://127.0.0.1:1/app?tick=100ms&shortest_ttl=1s");
    Lock const lock{store, {.key = "wanted", .ttl = refused_ttl}};
    lock.async_acquire(
        {.wait = std::chrono::milliseconds::max()}, [](error_code, Lease const&) { FAIL("nothing was to come"); });
    CHECK(context.run_for(1s) < 1000);
}

TEST_CASE_METHOD(
    ZookeeperTest, "a refused access to a ZooKeeper node is reported in words, without secrets", "[zookeeper]")
{
    RunningStore owner{with_login(server.url(), "worker:very-secret")};
    auto lease = RunningStore::acquire(owner.lock("held", refused_ttl));
    for (auto const* const login : {"worker:wrong-secret", "other:very-secret"}) {
        RunningStore stranger{with_login(server.url(), login)};
        CHECK(documented(refusal(stranger, "held", errc::permission_denied)));
        CHECK((stranger.log() + stranger.store().diagnostics().last_detail).find("secret") == std::string::npos);
    }
    RunningStore nobody{server.url()};
    CHECK(documented(refusal(nobody, "held", errc::permission_denied)));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(
    ZookeeperTest,
    "a ZooKeeper server that is away is told of; leases outlive a restart, and nothing outlives their time",
    "[zookeeper]")
{
    RunningStore running{server.url()};
    auto lasting = RunningStore::acquire(running.lock("lasting", 30s));
    auto lease = RunningStore::acquire(running.lock("held", refused_ttl));
    FiredAt fired{lease.token()};
    server.kill();
    CHECK(
        RunningStore::acquire_error(running.lock("wanted", refused_ttl), {.wait = 1500ms}) == errc::store_unavailable);
    CHECK(eventually([&] { return documented(running.store().diagnostics().last_detail); }));
    auto const told = fired.wait(refused_ttl);
    REQUIRE(told);
    CHECK(*told < nanoseconds(lease.valid_until()));
    CHECK(lease.token().reason() == CancelReason::expired);
    server.start();
    CHECK(eventually([&, before = lasting.valid_until()] { return lasting.valid_until() > before; }));
    CHECK_FALSE(lasting.token().cancelled());
    CHECK(RunningStore::release(lasting) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(
    ZookeeperTest, "a ZooKeeper server that stands still costs the lease, told in the log with the key and what to do",
    "[zookeeper]")
{
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("held", refused_ttl));
    FiredAt fired{lease.token()};
    server.pause();
    CHECK(fired.wait(refused_ttl));
    server.resume();
    CHECK(lease.token().reason() == CancelReason::expired);
    CHECK_THAT(
        running.log(),
        ContainsSubstring("lease on held is lost (no renewal succeeded in time): stop the work it covers"));
    CHECK(RunningStore::acquire_error(running.lock("held", refused_ttl), {.wait = 10s}) == error_code());
}
