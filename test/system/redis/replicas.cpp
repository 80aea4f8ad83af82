// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Leases that replicas must have before they count, on a real master with real replicas.
#include "harness/documented.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/live_backend.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

RedisServerOptions replica_of(RedisServer const& master)
{
    return {.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())}};
}

/** A master and two replicas that follow it. */
struct Replicated {
    Replicated()
        : Replicated(std::vector<std::string>{})
    {
    }
    explicit Replicated(std::vector<std::string> config)
        : master([&] {
            config.emplace_back("repl-diskless-sync-delay 0");
            return RedisServerOptions{.config = std::move(config)};
        }())
    {
        wait_until_whole();
    }
    void wait_until_whole()
    {
        auto client = master.client();
        client.call("SET", "mark", "1", "PX", 60'000);
        REQUIRE(eventually([&] { return client.call("WAIT", 2, 100).integer == 2; }, 30s));
    }
    [[nodiscard]] std::string url(std::string const& within = "200ms") const
    {
        return master.url() + "?replicas=2&replicas_within=" + within;
    }
    /** Whether a client has waited for replicas since the statistics were reset. */
    [[nodiscard]] bool waited() const
    {
        return master.client().call("INFO", "commandstats").text.find("cmdstat_wait:") != std::string::npos;
    }

    RedisServer master;
    RedisServer first{replica_of(master)};
    RedisServer second{replica_of(master)};
};

} // namespace

TEST_CASE("leases that all replicas acknowledge are had, renewed and released", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    servers.master.client().call("CONFIG", "RESETSTAT");
    RunningStore running{servers.url()};
    auto slot = RunningStore::acquire(running.pool(3, 1500ms));
    // the replicas have it at this moment, not only soon
    CHECK(servers.first.client().get(slot.key()) == slot.owner());
    CHECK(servers.second.client().get(slot.key()) == slot.owner());
    auto const first = slot.valid_until();
    REQUIRE(eventually([&] { return slot.valid_until() > first + 500ms; }, 10s));
    CHECK_FALSE(slot.token().cancelled());
    CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    CHECK_FALSE(servers.master.client().get(slot.key()));
    CHECK(servers.waited());
}

TEST_CASE("nothing waits for replicas unless that was asked for", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    servers.master.client().call("CONFIG", "RESETSTAT");
    RunningStore running{servers.master.url()};
    auto slot = RunningStore::acquire(running.pool(3, 300ms));
    auto const first = slot.valid_until();
    REQUIRE(eventually([&] { return slot.valid_until() > first + 300ms; }, 10s));
    CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    CHECK_FALSE(servers.waited());
}

TEST_CASE("while a replica stands still nothing is granted, nothing is left, and then it goes on", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    RunningStore running{servers.url()};
    auto const lock = running.lock("wanted", 5s);
    REQUIRE(RunningStore::acquire_error(lock) == error_code{});
    servers.second.pause();

    auto const error = RunningStore::acquire_error(lock, {.wait = 1500ms});
    CHECK(error == errc::not_replicated);
    CHECK(error == condition::try_later);
    CHECK(documented(error.message()));
    auto const detail = running.store().diagnostics().last_detail;
    CHECK_THAT(detail, ContainsSubstring("wanted: 1 of the 2 replicas asked for acknowledged it within 200 ms"));
    CHECK(documented(detail));
    CHECK(eventually([&] { return !servers.master.client().get("wanted"); }));
    CHECK(RunningStore::acquire_error(lock, {.wait = 0ms}) == errc::not_replicated);

    auto waiting = lock.async_acquire({.wait = 20s}, as_future);
    auto const tried = running.store().statistics().given_back;
    REQUIRE(eventually([&] { return running.store().statistics().given_back > tried + 2; }, 10s));
    servers.second.resume();
    auto [granted, lease] = within(20s, std::move(waiting));
    CHECK_FALSE(granted);
    CHECK(servers.second.client().get("wanted") == lease.owner());
}

TEST_CASE("a renewal that a replica does not acknowledge extends nothing", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    RunningStore running{servers.url("50ms")};
    auto ends = RunningStore::acquire(running.lock("ends", 1500ms));
    FiredAt fired{ends.token()};
    servers.first.pause();
    REQUIRE(eventually([&] { return ends.state() == LeaseState::at_risk; }, 5s));
    auto const valid_until = ends.valid_until();
    auto const at = fired.wait(10s);
    REQUIRE(at);
    CHECK(ends.token().reason() == CancelReason::expired);
    CHECK(ends.valid_until() == valid_until);
    CHECK(*at < nanoseconds(valid_until));
    CHECK_THAT(
        running.store().diagnostics().last_detail,
        ContainsSubstring("ends: the renewal does not count: 1 of the 2 replicas"));

    servers.first.resume();
    ends = {};
    CHECK(RunningStore::acquire_error(running.lock("ends", 1500ms), {.wait = 20s}) == error_code{});
}

TEST_CASE("a replica that stands still for less than the ttl costs no lease", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    RunningStore running{servers.url("50ms")};
    auto lease = RunningStore::acquire(running.lock("held", 4s));
    servers.first.pause();
    REQUIRE(eventually([&] { return lease.state() == LeaseState::at_risk; }, 5s));
    auto const before = lease.valid_until();
    servers.first.resume();
    REQUIRE(eventually([&] { return lease.valid_until() > before; }, 10s));
    CHECK(lease.state() == LeaseState::held);
    CHECK_FALSE(lease.token().cancelled());
}

TEST_CASE("a wait for replicas delays no release", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    RunningStore running{servers.url("3s")};
    auto lease = RunningStore::acquire(running.lock("held", 20s));
    // one before, so that the connection of releases is there
    REQUIRE(RunningStore::acquire_error(running.lock("other", 20s)) == error_code{});
    servers.first.pause();
    auto stuck = running.lock("stuck", 20s).async_acquire({.wait = 8s}, as_future);
    REQUIRE(eventually([&] { return servers.master.client().get("stuck").has_value(); }));
    auto const begin = Clock::now();
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK(Clock::now() - begin < 2s);
    CHECK(stuck.wait_for(0s) == std::future_status::timeout);
    servers.first.resume();
    auto [error, granted] = within(20s, std::move(stuck));
    CHECK_FALSE(error);
}

TEST_CASE("replicas need only the permission +wait, and its absence is reported", "[redis][replicas][acl]")
{
    require_redis();
    std::string const minimal = " on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
                                "+pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen ~wanted* "
                                "~tenure:fence ~{wanted*}:waiting ~{wanted*}:watched +subscribe +unsubscribe +publish "
                                "&{wanted*}:free";
    Replicated servers{{"user worker" + minimal + " +wait", "user other" + minimal}};
    auto const url_of = [&](std::string const& user) {
        return "redis://" + user + ":secret@127.0.0.1:" + std::to_string(servers.master.port()) +
               "?replicas=2&replicas_within=500ms";
    };
    RunningStore running{url_of("worker")};
    auto lease = RunningStore::acquire(running.lock("wanted-1", 2s));
    auto const first = lease.valid_until();
    bool const renewed = eventually([&] { return lease.valid_until() > first + 500ms; }, 10s);
    INFO(running.store().diagnostics().last_detail);
    REQUIRE(renewed);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK(servers.master.client().call("ACL", "LOG").elements.empty());

    RunningStore other{url_of("other")};
    CHECK(RunningStore::acquire_error(other.lock("wanted", 3s)) == errc::permission_denied);
    auto const detail = other.store().diagnostics().last_detail;
    CHECK_THAT(detail, ContainsSubstring("+wait"));
    CHECK(documented(detail));
    CHECK(eventually([&] { return !servers.master.client().get("wanted"); }));
}

TEST_CASE("doctor says whether the replicas are there that leases wait for", "[redis][replicas]")
{
    require_redis();
    Replicated servers;
    auto config = config_of(servers.master);
    auto const finding = [&](std::uint32_t wanted) {
        config.replicas.acknowledged_by = wanted;
        LiveBackend live{config};
        for (auto const& found : live.examine(3s))
            if (found.subject == "replicas")
                return found;
        return Finding{};
    };
    CHECK(finding(2).severity == Finding::Severity::ok);
    CHECK(finding(1).severity == Finding::Severity::warning);
    auto const missing = finding(3);
    CHECK(missing.severity == Finding::Severity::error);
    CHECK_THAT(missing.observed, ContainsSubstring("2, of which 3 must acknowledge"));
    CHECK_THAT(missing.advice, ContainsSubstring("not_replicated"));
}
