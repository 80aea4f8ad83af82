// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Delay after a failover in a cluster: each hash slot by itself.
#include "harness/redis_cluster.hpp"
#include "system/support/running_store.hpp"

#include "store/redis/cluster/hash_slot.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tenure::test
{

namespace
{

constexpr auto ttl = 1s;
/// servers count whole milliseconds
constexpr auto almost_ttl = ttl - 5ms;

std::string marker_of(std::string const& key)
{
    return "tenure:master:{" + redis::slot_number(redis::hash_slot(key)) + "}";
}

/** How long it takes to get the lock, which is given back. */
std::chrono::nanoseconds time_to_get(RunningStore& running, std::string const& key)
{
    auto const begin = Clock::now();
    auto lease = RunningStore::acquire(running.lock(key, ttl), {.wait = 15s});
    auto const waited = Clock::now() - begin;
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    return waited;
}

} // namespace

TEST_CASE("in a cluster the first use of each hash slot waits for one ttl, and no later one does", "[cluster][delay]")
{
    require_redis();
    std::string const user =
        "user worker on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
        "+pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen +cluster|shards +asking +info "
        "~P* ~tenure:fence:* ~{P*}:waiting ~{P*}:watched ~tenure:master:* +ssubscribe +sunsubscribe +spublish "
        "&{P*}:free &P*";
    RedisCluster cluster{{.replicas = 0, .node = {.config = {user}}}};
    RunningStore running{
        "redis+cluster://worker:secret@127.0.0.1:" + std::to_string(cluster.port(0)) + "?delay_after_failover=true"};
    CHECK(time_to_get(running, "P-lock") >= almost_ttl);
    CHECK(time_to_get(running, "P-lock") < ttl);
    auto const marker = marker_of("P-lock");
    CHECK(cluster.owner_of(marker) == cluster.owner_of("P-lock"));
    auto& node = cluster.server(cluster.owner_of(marker));
    CHECK(node.client().get(marker).value().starts_with(node.client().info("run_id") + " 1000 "));

    // all slots of a pool close with the first look at them, not one after the other
    SlotPool const pool{running.store(), {.prefix = "P:", .size = 6, .ttl = ttl}};
    auto const begin = Clock::now();
    std::vector<Slot> slots;
    for (int i = 0; i < 6; ++i)
        slots.push_back(RunningStore::acquire(pool, {.wait = 15s}));
    CHECK(Clock::now() - begin >= almost_ttl);
    CHECK(Clock::now() - begin < 3 * ttl);
    for (auto& slot : slots)
        static_cast<void>(RunningStore::release(slot));
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(cluster.server(i).client().call("ACL", "LOG").elements.empty());
}

TEST_CASE("in a cluster a node that was restarted is closed for a ttl, and the others are not", "[cluster][delay]")
{
    require_redis();
    RedisCluster cluster{
        {.replicas = 0,
         .node_timeout = 60s,
         .node = {.config = {"appendonly yes", "cluster-require-full-coverage no"}}}};
    RunningStore running{cluster.url() + "?delay_after_failover=true"};
    std::string there;
    std::string elsewhere;
    for (int i = 0; there.empty() || elsewhere.empty(); ++i) {
        auto const key = "lock" + std::to_string(i);
        (cluster.owner_of(key) == 0 ? there : elsewhere) = key;
    }
    static_cast<void>(time_to_get(running, there));
    static_cast<void>(time_to_get(running, elsewhere));
    auto const run_id = cluster.server(0).client().info("run_id");
    cluster.server(0).restart();
    CHECK(time_to_get(running, elsewhere) < ttl);
    CHECK(time_to_get(running, there) >= almost_ttl);
    auto const marked = cluster.server(0).client().get(marker_of(there)).value();
    CHECK_FALSE(marked.starts_with(run_id));
    CHECK(time_to_get(running, there) < ttl);
}

} // namespace tenure::test
