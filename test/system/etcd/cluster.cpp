// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Three members: what the loss of one, of the leader and of a majority costs.
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** Leases that are held, and when their tokens fire. */
struct Held {
    Held(RunningStore const& running, std::string const& key, std::chrono::milliseconds ttl)
        : lease(RunningStore::acquire(running.lock(key, ttl), {.wait = 15s}))
        , fired(lease.token())
    {
    }
    Lease lease;
    FiredAt fired;
};

std::list<Held> hold(RunningStore const& running, int count, std::chrono::milliseconds ttl)
{
    std::list<Held> leases;
    for (int i = 0; i < count; ++i)
        leases.emplace_back(running, "key:" + std::to_string(i), ttl);
    return leases;
}

void all_renewed(std::list<Held>& leases, std::chrono::milliseconds limit)
{
    std::vector<Instant> before;
    for (auto const& held : leases)
        before.push_back(held.lease.valid_until());
    std::size_t i = 0;
    for (auto const& held : leases) {
        CHECK(eventually([&] { return held.lease.valid_until() > before[i]; }, limit));
        ++i;
        CHECK_FALSE(held.lease.token().cancelled());
    }
}

} // namespace

TEST_CASE("leases outlive the leader, killed or stopped, and the endpoint in use", "[etcd]")
{
    require_etcd();
    EtcdCluster cluster{3};
    RunningStore running{cluster.url()};
    auto leases = hold(running, 20, 12s);
    SECTION("killed, one after the other, each back before the next")
    {
        for (int round = 0; round < 3; ++round) {
            auto& leader = cluster.server(cluster.leader());
            leader.kill();
            all_renewed(leases, 11s);
            leader.start();
        }
    }
    SECTION("stopped")
    {
        auto& leader = cluster.server(cluster.leader());
        leader.pause();
        all_renewed(leases, 11s);
        leader.resume();
        all_renewed(leases, 11s);
    }
    for (auto& held : leases)
        CHECK(eventually([&] { return RunningStore::release(held.lease) == ReleaseOutcome::released; }));
}

TEST_CASE("without a majority tokens fire in time, nothing is granted, and all is well with it again", "[etcd]")
{
    require_etcd();
    EtcdCluster cluster{3};
    RunningStore running{cluster.url()};
    auto leases = hold(running, 5, 4s);
    cluster.server(0).pause();
    cluster.server(1).pause();
    for (auto& held : leases) {
        auto const told = held.fired.wait(10s);
        REQUIRE(told);
        CHECK(*told < nanoseconds(held.lease.valid_until()));
        CHECK(held.lease.token().reason() == CancelReason::expired);
    }
    CHECK(RunningStore::acquire_error(running.lock("wanted", 4s), {.wait = 1s}) == errc::store_unavailable);
    cluster.server(0).resume();
    cluster.server(1).resume();
    CHECK(RunningStore::acquire_error(running.lock("wanted", 4s), {.wait = 20s}) == error_code{});
}
