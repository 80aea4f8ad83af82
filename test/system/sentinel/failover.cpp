// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The effects of failovers on leases: which leases survive, which losses are notified, and how long nothing is granted.
#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "harness/sentinel_group.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** Acquires and releases one lock again and again, on a thread of its own. */
class SteadyAcquirer : Immovable
{
public:
    explicit SteadyAcquirer(RunningStore& running)
        : lock_(running.lock("steady", 10s))
        , thread_([this] { run(); })
    {
    }
    ~SteadyAcquirer() { stop(); }

    void stop()
    {
        stopped_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] std::uint64_t grants() const noexcept { return grants_; }
    [[nodiscard]] bool tokens_increased() const noexcept { return tokens_increased_; }

private:
    void run()
    {
        std::uint64_t last_token = 0;
        while (!stopped_) {
            auto [error, lease] = within(60s, lock_.async_acquire({.wait = 40s}, as_future));
            if (error)
                continue;
            if (lease.fencing_token() <= last_token)
                tokens_increased_ = false;
            last_token = lease.fencing_token();
            ++grants_;
            static_cast<void>(RunningStore::release(lease));
        }
    }

    Lock lock_;
    std::atomic<bool> stopped_ = false;
    std::atomic<std::uint64_t> grants_ = 0;
    std::atomic<bool> tokens_increased_ = true;
    std::thread thread_;
};

/** Everything that was written to the master has reached all of its replicas. */
void wait_for_replicas(RedisServer& master, int replicas)
{
    auto client = master.client();
    client.call("SET", "mark", "1", "PX", 60'000);
    REQUIRE(client.call("WAIT", replicas, 10'000).integer == replicas);
}

/** How many connections a server has that are neither a sentinel's nor this question's own. */
std::size_t users_of(RedisServer& server)
{
    auto client = server.client();
    client.call("CLIENT", "SETNAME", "question");
    std::istringstream lines(client.call("CLIENT", "LIST", "TYPE", "normal").text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);)
        if (line.find(" name= ") != std::string::npos)
            ++count;
    return count;
}

/** Whether leases are renewed there: neither sentinels nor replicas run scripts. */
bool serves_leases(RedisServer& server)
{
    return server.client().call("CLIENT", "LIST", "TYPE", "normal").text.find(" cmd=eval") != std::string::npos;
}

bool all_kept(std::vector<Slot> const& slots, RedisServer& master)
{
    auto client = master.client();
    for (auto const& slot : slots)
        if (!slot.valid() || slot.token().cancelled() || client.get(slot.key()) != slot.owner())
            return false;
    return true;
}

/** Every lease was renewed since `then`. */
bool all_renewed(std::vector<Slot> const& slots, std::vector<Instant> const& then)
{
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (slots[i].valid_until() <= then[i])
            return false;
    return true;
}

std::vector<Instant> validities(std::vector<Slot> const& slots)
{
    std::vector<Instant> instants;
    for (auto const& slot : slots)
        instants.push_back(slot.valid_until());
    return instants;
}

std::vector<Slot> acquire_all(SlotPool const& pool, std::size_t count)
{
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < count; ++i)
        slots.push_back(RunningStore::acquire(pool));
    return slots;
}

/** Fixture: a master, its replicas and sentinels, and a store whose leases are to survive. */
struct SentinelTest {
    SentinelGroup group{(require_redis(), SentinelGroupOptions{})};
    RunningStore holding{group.url()};
};

} // namespace

TEST_CASE_METHOD(
    SentinelTest, "when the master is killed, leases that had reached the replicas are kept, and acquiring goes on",
    "[sentinel]")
{
    RunningStore acquiring{group.url()};
    auto slots = acquire_all(holding.pool(20, 10s), 20);
    SteadyAcquirer acquirer(acquiring);
    auto& old_master = group.master();
    wait_for_replicas(old_master, 2);
    REQUIRE(eventually([&] { return acquirer.grants() > 20; }, 30s));

    auto const before = validities(slots);
    auto const killed = Clock::now();
    old_master.kill();
    auto const at_kill = acquirer.grants();
    // one may have been granted in this moment; the second after it comes from the new master
    REQUIRE(eventually([&] { return acquirer.grants() >= at_kill + 2; }, 40s));
    auto const pause = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - killed);
    auto& master = group.wait_for_another_master(old_master);
    auto const agreed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - killed);
    WARN("acquiring went on after " << pause.count() << " ms, all sentinels agreed within " << agreed.count() << " ms");
    REQUIRE(eventually([&] { return all_renewed(slots, before); }, 10s));
    CHECK(all_kept(slots, master));
    acquirer.stop();
    CHECK(acquirer.tokens_increased());
    INFO(holding.log());
    CHECK(holding.log().find("is lost") == std::string::npos);

    // the old master comes back, becomes a replica, and no client connects to it
    old_master.start();
    group.wait_until_whole();
    CHECK(all_kept(slots, master));
    CHECK(users_of(old_master) == 0);
    for (auto& slot : slots)
        CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(
    SentinelTest, "a lease whose write did not reach the new master is lost in time, and the next token is greater",
    "[sentinel]")
{
    RunningStore other{group.url()};
    auto kept = RunningStore::acquire(holding.lock("kept", 10s));
    auto& old_master = group.master();
    wait_for_replicas(old_master, 2);

    // the replicas receive nothing more, and pending replication is cut off
    for (auto const& server : group.servers())
        if (server.get() != &old_master)
            server->pause();
    old_master.client().call("CLIENT", "KILL", "TYPE", "replica");
    auto lost = RunningStore::acquire(holding.lock("lost", 10s));
    FiredAt fired{lost.token()};
    old_master.kill();
    for (auto const& server : group.servers())
        if (server.get() != &old_master)
            server->resume();

    auto taken = RunningStore::acquire(other.lock("lost", 10s), {.wait = 40s});
    CHECK(taken.fencing_token() > lost.fencing_token());
    auto const at = fired.wait(15s);
    REQUIRE(at);
    CHECK(lost.token().reason() == CancelReason::not_owner);
    CHECK(*at < nanoseconds(lost.valid_until()));
    CHECK(taken.valid());
    CHECK(kept.valid());
    CHECK_FALSE(kept.token().cancelled());
    CHECK(group.wait_for_another_master(old_master).client().get("kept") == kept.owner());
}

TEST_CASE_METHOD(SentinelTest, "a failover that is asked for costs no lease, and the old master is left", "[sentinel]")
{
    RunningStore waiting{group.url()};
    auto slots = acquire_all(holding.pool(20, 5s), 20);
    // a waiter brings the connection that listens for hints
    auto waiter = waiting.pool(20, 5s).async_acquire({.wait = 60s}, as_future);
    auto& old_master = group.master();
    wait_for_replicas(old_master, 2);
    auto const before = validities(slots);
    group.sentinel(0).client().call("SENTINEL", "FAILOVER", SentinelGroup::master_name);
    auto& master = group.wait_for_another_master(old_master);
    REQUIRE(eventually([&] { return all_renewed(slots, before); }, 10s));
    CHECK(all_kept(slots, master));
    CHECK(eventually([&] { return users_of(old_master) == 0; }));
    // the hint arrives through the new master
    CHECK(RunningStore::release(slots.front()) == ReleaseOutcome::released);
    auto const released = Clock::now();
    auto [error, slot] = within(10s, std::move(waiter));
    CHECK_FALSE(error);
    CHECK(Clock::now() - released < 2s);
}

TEST_CASE_METHOD(SentinelTest, "a master that stood still is left, and its return takes nothing back", "[sentinel]")
{
    auto slots = acquire_all(holding.pool(5, 10s), 5);
    auto& old_master = group.master();
    wait_for_replicas(old_master, 2);
    auto const before = validities(slots);
    old_master.pause();
    auto& master = group.wait_for_another_master(old_master);
    REQUIRE(eventually([&] { return all_renewed(slots, before); }, 10s));
    // it believes to be the master until a sentinel tells it otherwise
    old_master.resume();
    RunningStore late{group.url()};
    auto const lease = RunningStore::acquire(late.lock("late", 5s), {.wait = 10s});
    CHECK(master.client().get("late") == lease.owner());
    group.wait_until_whole();
    CHECK(all_kept(slots, master));
    CHECK(eventually([&] { return users_of(old_master) == 0; }));
}

TEST_CASE("while all sentinels are away held leases go on, and so does acquiring where one is connected", "[sentinel]")
{
    require_redis();
    SentinelGroup group;
    RunningStore running{group.url()};
    auto lease = RunningStore::acquire(running.lock("held", 1s));
    for (auto const& sentinel : group.sentinels())
        sentinel->kill();
    auto const begin = Clock::now();
    auto const first = lease.valid_until();
    REQUIRE(eventually([&] { return lease.valid_until() > first + 3s; }, 20s));
    CHECK(Clock::now() - begin > 2s);
    CHECK_FALSE(lease.token().cancelled());
    CHECK(RunningStore::acquire_error(running.lock("other", 1s)) == error_code{});

    // a store that was not connected has to wait for one of them
    RunningStore late{group.url()};
    CHECK(RunningStore::acquire_error(late.lock("late", 1s), {.wait = 1s}) == errc::store_unavailable);
    group.sentinel(1).start();
    CHECK(RunningStore::acquire_error(late.lock("late", 1s), {.wait = 20s}) == error_code{});
}

TEST_CASE("one sentinel that still names the old master is not believed", "[sentinel]")
{
    require_redis();
    SentinelGroup group;
    RunningStore running{group.url()};
    auto lease = RunningStore::acquire(running.lock("held", 10s));
    auto& old_master = group.master();
    wait_for_replicas(old_master, 2);
    auto& stale = group.sentinel(0);
    stale.kill();
    group.sentinel(1).client().call("SENTINEL", "FAILOVER", SentinelGroup::master_name);
    auto const others_agree = [&] {
        for (std::size_t const i : {1U, 2U})
            if (group.sentinel(i).master_field("port") == std::to_string(old_master.port()))
                return false;
        return true;
    };
    REQUIRE(eventually(others_agree, 60s));
    auto& master =
        group.server(group.index_of(static_cast<std::uint16_t>(std::stoul(group.sentinel(1).master_field("port")))));
    REQUIRE(eventually([&] { return serves_leases(master); }, 20s));

    // the two that know are cut off; the third one, which missed it all, speaks
    group.sentinel(1).pause();
    group.sentinel(2).pause();
    stale.start();
    REQUIRE(stale.master_field("port") == std::to_string(old_master.port()));
    master.client().call("CLIENT", "KILL", "TYPE", "normal");
    REQUIRE(eventually([&] { return running.log().find("that was replaced since") != std::string::npos; }, 20s));
    CHECK(users_of(old_master) == 0);
    CHECK_FALSE(lease.token().cancelled());
    group.sentinel(1).resume();
    group.sentinel(2).resume();
    auto const before = lease.valid_until();
    CHECK(eventually([&] { return lease.valid_until() > before; }, 10s));
    CHECK(master.client().get("held") == lease.owner());
}
