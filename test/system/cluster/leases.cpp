// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Leases in a real cluster while its slots move, its masters die and its nodes hang.
#include "system/support/running_store.hpp"

#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "harness/redis_cluster.hpp"

#include "store/redis/cluster/hash_slot.hpp"
#include "store/redis/key_names.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tenure::test
{

namespace
{

/** Acquires and releases in one pool without end, in a thread of its own. */
class Churn : Immovable
{
public:
    Churn(Store const& store, std::string const& prefix, std::uint32_t size)
        : thread_([this, pool = SlotPool{store, {.prefix = prefix, .size = size, .ttl = 3s}}] {
            while (!stop_) {
                auto [error, slot] = soon(pool.async_acquire({.wait = 10s}, as_future));
                if (error) {
                    ++failed_;
                    continue;
                }
                last_ = std::chrono::steady_clock::now();
                ++rounds_;
                static_cast<void>(RunningStore::release(slot));
            }
        })
    {
    }
    ~Churn() { end(); }

    void end()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] int rounds() const { return rounds_; }
    [[nodiscard]] int failed() const { return failed_; }
    /** Goes on until it has acquired that often from now on. */
    [[nodiscard]] bool goes_on(int rounds, std::chrono::milliseconds limit = 20s) const
    {
        return eventually([this, end = rounds_ + rounds] { return rounds_ >= end; }, limit);
    }

private:
    std::atomic<bool> stop_ = false;
    std::atomic<int> rounds_ = 0;
    std::atomic<int> failed_ = 0;
    std::atomic<std::chrono::steady_clock::time_point> last_{};
    std::thread thread_;
};

/** Looks at leases every few milliseconds, and notes how little time one of them ever had left before its token would
 * have fired. */
class Margin : Immovable
{
public:
    explicit Margin(std::vector<Lease> const& leases)
        : thread_([this, &leases] {
            while (!stop_) {
                for (auto const& lease : leases)
                    least_ = std::min<std::chrono::nanoseconds>(least_, lease.stop_at() - boot_now());
                std::this_thread::sleep_for(3ms);
            }
        })
    {
    }
    ~Margin() { static_cast<void>(end()); }

    [[nodiscard]] std::chrono::nanoseconds end()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
        return least_;
    }

private:
    [[nodiscard]] static Instant boot_now() { return Clock::now(); }

    std::atomic<bool> stop_ = false;
    std::chrono::nanoseconds least_ = 1h;
    std::thread thread_;
};

/** A lock's name whose slot the node serves. */
std::string key_at(RedisCluster& cluster, std::size_t node, int number)
{
    for (int i = 0;; ++i) {
        auto key = "job-" + std::to_string(number) + "-" + std::to_string(i);
        if (redis::hash_slot(key) / (16384 / 3 + 1) == node && cluster.owner_of(key) == node)
            return key;
    }
}

std::vector<Lease> hold_at(RunningStore const& running, RedisCluster& cluster, std::size_t node, int count)
{
    std::vector<Lease> leases;
    for (int i = 0; i < count; ++i)
        leases.push_back(
            RunningStore::acquire(running.lock(key_at(cluster, node, i + 100 * static_cast<int>(node)), 3s)));
    return leases;
}

constexpr std::chrono::milliseconds undisturbed{1200};

} // namespace

TEST_CASE("a cluster computes the same hash slots", "[cluster]")
{
    require_redis();
    RedisCluster cluster{{.replicas = 0}};
    for (std::string const key :
         {"foo", "{user1000}.following", "foo{}{bar}", "foo{{bar}}zap", "foo{bar}{zap}", "job:17:fence", "{}", "a}b{c",
          "{job}:free", "\xff\x01", "thread_id_lock:12"})
        CHECK(redis::hash_slot(key) == cluster.slot_of(key));
}

TEST_CASE("a pool's slot moves to another node under held leases and acquiring", "[cluster]")
{
    require_redis();
    RedisCluster cluster{{.replicas = 0}};
    RunningStore running{cluster.url()};
    SlotPool const pool{running.store(), {.prefix = "{ids}:", .size = 6, .ttl = 1500ms}};
    std::vector<Slot> held;
    for (int i = 0; i < 4; ++i)
        held.push_back(RunningStore::acquire(pool));
    Churn churn{running.store(), "{ids}:", 6};
    REQUIRE(churn.goes_on(20));

    auto const slot = cluster.slot_of("{ids}:0");
    auto const from = cluster.owner_of("{ids}:0");
    auto const to = (from + 1) % 3;
    auto const questions_before = cluster.calls("cluster|shards");
    auto const moved_before = cluster.errors("MOVED");
    cluster.begin_migration(slot, from, to);
    // half of the keys are there, and that goes on for longer than a ttl
    for (int i = 0; i < 2; ++i)
        cluster.server(from).client().call(
            "MIGRATE", "127.0.0.1", cluster.port(to), "{ids}:" + std::to_string(i), 0, 5000);
    std::this_thread::sleep_for(2500ms);
    for (auto const& lease : held)
        CHECK(lease.state() == LeaseState::held);
    CHECK(cluster.errors("ASK") + cluster.errors("TRYAGAIN") > 0);
    cluster.migrate_keys(slot, from, to);
    cluster.end_migration(slot, from, to);
    CHECK(churn.goes_on(20));
    churn.end();
    CHECK(churn.failed() == 0);

    for (auto const& lease : held) {
        CHECK(lease.state() == LeaseState::held);
        CHECK_FALSE(lease.token().cancelled());
    }
    // no storm: a few redirects, a few questions
    CHECK(cluster.errors("MOVED") - moved_before <= 20);
    CHECK(cluster.calls("cluster|shards") - questions_before <= 20);
    for (auto& lease : held)
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    // A claim that ended unheard may still be on its way back: for less than a ttl, by which any key would be gone.
    std::vector<std::string> left;
    CHECK(eventually(
        [&] {
            left.clear();
            for (std::size_t node = 0; node < cluster.size(); ++node)
                std::ranges::copy(cluster.server(node).client().keys("{ids}:*"), std::back_inserter(left));
            return left.empty();
        },
        1s));
    CHECK(left == std::vector<std::string>{});
}

TEST_CASE("the death of a master disturbs no lease at another, and acquiring goes on at its replica", "[cluster]")
{
    require_redis();
    RedisCluster cluster;
    RunningStore running{cluster.url()};
    auto const elsewhere_1 = hold_at(running, cluster, 1, 10);
    auto const elsewhere_2 = hold_at(running, cluster, 2, 10);
    auto const key = key_at(cluster, 0, 1);
    auto const lock = running.lock(key, 3s);
    auto before = RunningStore::acquire(lock);
    auto const token_before = before.fencing_token();
    REQUIRE(RunningStore::release(before) == ReleaseOutcome::released);
    Churn churn{running.store(), "spread:", 9};
    REQUIRE(churn.goes_on(20));
    Margin margin_1{elsewhere_1};
    Margin margin_2{elsewhere_2};

    cluster.server(0).kill();
    auto const died = std::chrono::steady_clock::now();
    // a pool without hash tag has keys elsewhere
    CHECK(churn.goes_on(20));
    auto after = RunningStore::acquire(lock, {.wait = 20s});
    auto const outage = std::chrono::steady_clock::now() - died;
    CHECK(after.fencing_token() > token_before);
    CHECK(after.valid());
    CHECK(churn.goes_on(20));
    churn.end();
    UNSCOPED_INFO("acquired again after " << std::chrono::duration_cast<std::chrono::milliseconds>(outage).count());
    CHECK(outage < 15s);
    CHECK(margin_1.end() > undisturbed);
    CHECK(margin_2.end() > undisturbed);
    CHECK(running.store().statistics().lost[CancelReason::not_owner] == 0);
    CHECK(running.store().statistics().lost[CancelReason::expired] == 0);
}

TEST_CASE("a node that hangs disturbs no lease at another", "[cluster]")
{
    require_redis();
    // too long for a failover during this test
    RedisCluster cluster{{.replicas = 0, .node_timeout = 60s}};
    RunningStore running{cluster.url()};
    auto const there = hold_at(running, cluster, 0, 10);
    auto const elsewhere = hold_at(running, cluster, 1, 20);
    cluster.server(0).pause();
    {
        Margin margin{elsewhere};
        std::this_thread::sleep_for(4s);
        CHECK(margin.end() > undisturbed);
        for (auto const& lease : elsewhere)
            CHECK(lease.state() == LeaseState::held);
        // and those at the node ended in time
        for (auto const& lease : there)
            CHECK(lease.token().cancelled());
    }
    cluster.server(0).resume();
}

TEST_CASE("a waiter in another program is woken by a release, also in a pool over all nodes", "[cluster]")
{
    require_redis();
    RedisCluster cluster{{.replicas = 0}};
    RunningStore holder{cluster.url()};
    RunningStore waiter{cluster.url()};
    for (std::string const prefix : {"{tagged}:", "spread:"}) {
        CAPTURE(prefix);
        SlotPool const pool{holder.store(), {.prefix = prefix, .size = 3, .ttl = 20s}};
        SlotPool const wanted{waiter.store(), {.prefix = prefix, .size = 3, .ttl = 20s}};
        std::vector<Slot> all;
        for (int i = 0; i < 3; ++i)
            all.push_back(RunningStore::acquire(pool));
        // each busy try asks for the remaining time of all three
        auto const asked_before = cluster.calls("pttl");
        auto waiting = wanted.async_acquire({.wait = 15s}, as_future);
        // subscribed before the release, or else the try after the subscription finds the key
        auto const channel = redis::channel_of(*pool.range());
        auto const subscribed = [&] {
            auto client = cluster.server(cluster.owner_of(channel)).client();
            return client.call("PUBSUB", "SHARDNUMSUB", channel).elements.at(1).integer == 1;
        };
        REQUIRE(eventually(subscribed));
        REQUIRE(eventually([&] { return cluster.calls("pttl") >= asked_before + 6; }));
        auto const released = std::chrono::steady_clock::now();
        REQUIRE(RunningStore::release(all[1]) == ReleaseOutcome::released);
        auto [error, slot] = soon(std::move(waiting));
        CHECK_FALSE(error);
        CHECK(slot.id() == 1);
        UNSCOPED_INFO("after us: " << (std::chrono::steady_clock::now() - released) / 1us);
        CHECK(cluster.calls("spublish") > 0);
        for (auto& lease : all)
            if (lease.id() != 1)
                static_cast<void>(RunningStore::release(lease));
        static_cast<void>(RunningStore::release(slot));
    }
}

} // namespace tenure::test
