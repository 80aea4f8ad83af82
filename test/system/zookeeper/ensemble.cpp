// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Three ZooKeeper servers: leases survive while a majority remains, whichever server is killed or stopped, and end in
// time without one.
#include "harness/eventually.hpp"
#include "harness/zookeeper_server.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto ensemble_ttl = 8s;

[[nodiscard]] ZookeeperEnsemble& ensemble()
{
    require_zookeeper();
    static ZookeeperEnsemble three{3, {.tick = 400ms, .shortest_session = 800ms, .sync_ticks = 5}};
    return three;
}

[[nodiscard]] std::size_t leader()
{
    std::optional<std::size_t> found;
    REQUIRE(eventually([&] { return (found = ensemble().leader()).has_value(); }, 30s, 50ms));
    return *found;
}

/** Some leases that are held for the whole of a test case. */
struct Held {
    RunningStore store{ensemble().url()};
    std::vector<Slot> slots;

    Held()
    {
        auto const pool = store.pool(8, ensemble_ttl);
        for (int i = 0; i < 8; ++i)
            slots.push_back(RunningStore::acquire(pool));
    }
    [[nodiscard]] bool all_kept() const
    {
        for (auto const& slot : slots)
            if (slot.token().cancelled())
                return false;
        return true;
    }
    /** All have been renewed after this instant. */
    [[nodiscard]] bool renewed_after(Instant instant) const
    {
        for (auto const& slot : slots)
            if (slot.valid_until() < instant + ensemble_ttl * 9 / 10)
                return false;
        return true;
    }
    void release_all()
    {
        for (auto& slot : slots)
            CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    }
};

/** Leases are kept and renewed while the leader, and then a follower, is unavailable. */
void check_outlived(void (ZookeeperServer::*stop)(), void (ZookeeperServer::*go_on)())
{
    Held held;
    for (std::size_t round = 0; round < 2; ++round) {
        auto& victim = ensemble().server(round == 0 ? leader() : (leader() + 1) % 3);
        (victim.*stop)();
        auto const stopped = Clock::now();
        CHECK(eventually([&] { return held.renewed_after(stopped); }, 30s));
        CHECK(held.all_kept());
        (victim.*go_on)();
        ensemble().wait_until_whole();
    }
    held.release_all();
}

} // namespace

TEST_CASE("leases outlive the death of the leader, and of a follower", "[zookeeper][ensemble]")
{
    check_outlived(&ZookeeperServer::kill, &ZookeeperServer::start);
}

TEST_CASE("leases outlive a leader and a follower that stand still", "[zookeeper][ensemble]")
{
    check_outlived(&ZookeeperServer::pause, &ZookeeperServer::resume);
}

TEST_CASE("without a majority every token fires before its validity ends", "[zookeeper][ensemble]")
{
    Held held;
    std::vector<FiredAt> fired;
    for (auto const& slot : held.slots)
        fired.emplace_back(slot.token());
    auto const first = leader();
    auto const second = (first + 1) % 3;
    ensemble().server(first).pause();
    ensemble().server(second).pause();
    for (std::size_t i = 0; i < fired.size(); ++i) {
        auto const at = fired[i].wait(ensemble_ttl + 2s);
        REQUIRE(at);
        CHECK(*at < nanoseconds(held.slots[i].valid_until()));
        CHECK(held.slots[i].token().reason() == CancelReason::expired);
    }
    ensemble().server(first).resume();
    ensemble().server(second).resume();
    ensemble().wait_until_whole();
    // the next client waits until the servers have ended the sessions
    RunningStore other{ensemble().url()};
    auto slot = RunningStore::acquire(other.pool(8, ensemble_ttl), {.wait = 30s});
    CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
}
