// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lines of waiters in a real cluster: in the slot of their keys, in another one, and in one that moves.
#include "system/support/live_backend.hpp"

#include "harness/redis_cluster.hpp"

#include "store/redis/cluster/backend.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using Events = std::vector<WatchEvent>;

namespace
{

/** A store in the cluster that watches one range as a waiter. */
struct ClusterWaiter {
    LiveBackend live;
    Events events;
    std::unique_ptr<Watch> watch;

    ClusterWaiter(RedisCluster const& cluster, KeyRangePtr const& range)
        : live([port = cluster.port(0)](std::shared_ptr<Runtime> runtime) {
            RedisClusterConfig config;
            config.seeds = {{"127.0.0.1", port}};
            return redis::make_cluster_backend(std::move(runtime), config, redis::socket_streams());
        })
    {
        live.on_strand([&] {
            watch = live.backend().watch(range, WatchAs::waiter, [this](WatchEvent event) { events.push_back(event); });
        });
        live.run_until([this] { return !events.empty(); });
    }
    ~ClusterWaiter()
    {
        live.on_strand([this] { watch.reset(); });
    }

    [[nodiscard]] ClaimReply claim(KeyRangePtr const& range, unsigned number, Waits waits)
    {
        ClaimRequest request{range, owner(number), 5s, live.now() + 10s, false, std::nullopt};
        request.waits = waits;
        return live.claim(request);
    }
};

std::vector<std::string> names_in(RedisCluster& cluster, std::string const& line)
{
    std::vector<std::string> names;
    for (auto const& name : cluster.call({"LRANGE", line, "0", "-1"}).elements)
        names.push_back(name.text);
    return names;
}

} // namespace

TEST_CASE("a pool that spreads over a cluster has one line, in which stores are named in order", "[cluster][line]")
{
    require_redis();
    RedisCluster cluster{{.replicas = 0}};
    auto const pool = numbered_keys("spread:", 3);
    ClusterWaiter holder(cluster, pool);
    ClusterWaiter first(cluster, pool);
    ClusterWaiter second(cluster, pool);
    for (unsigned i = 0; i < 3; ++i)
        static_cast<void>(expect<Granted>(holder.claim(pool, i, Waits::no)));

    static_cast<void>(expect<Busy>(first.claim(pool, 10, Waits::no)));
    CHECK(names_in(cluster, "{spread:}:waiting").empty());
    static_cast<void>(expect<Busy>(first.claim(pool, 10, Waits::in_line)));
    static_cast<void>(expect<Busy>(second.claim(pool, 20, Waits::in_line)));
    static_cast<void>(expect<Busy>(first.claim(pool, 10, Waits::in_line)));
    auto const names = names_in(cluster, "{spread:}:waiting");
    REQUIRE(names.size() == 2);

    CHECK(expect<Released>(holder.live.release(claim_of(pool, owner(0), 0))).named_another);
    first.live.run_until([&] { return first.events.size() == 2; });
    second.live.run_until([&] { return second.events.size() == 2; });
    CHECK(first.events.back() == WatchEvent::our_turn);
    CHECK(second.events.back() == WatchEvent::others_turn);
    CHECK(names_in(cluster, "{spread:}:waiting") == std::vector{names[1]});
    // another claim is faster: the store goes to the front
    static_cast<void>(expect<Granted>(holder.claim(pool, 0, Waits::no)));
    static_cast<void>(expect<Busy>(first.claim(pool, 10, Waits::in_front)));
    CHECK(names_in(cluster, "{spread:}:waiting") == names);

    // two keys, two names, one message
    static_cast<void>(holder.live.ask_together<ReleaseReply, ReleaseRequest>(
        &Backend::release, {{claim_of(pool, owner(0), 0), holder.live.now() + 10s, true},
                            {claim_of(pool, owner(1), 1), holder.live.now() + 10s, true}}));
    first.live.run_until([&] { return first.events.size() >= 3; });
    second.live.run_until([&] { return second.events.size() >= 3; });
    CHECK(first.events.at(2) == WatchEvent::our_turn);
    CHECK(names_in(cluster, "{spread:}:waiting").empty());

    // a claim that is granted while its store stands in line leaves it
    cluster.call({"RPUSH", "{spread:}:waiting", names[0]});
    static_cast<void>(expect<Granted>(first.claim(pool, 10, Waits::in_line)));
    static_cast<void>(expect<Granted>(first.claim(pool, 11, Waits::no)));
    CHECK(names_in(cluster, "{spread:}:waiting").empty());
}

TEST_CASE("a release in a slot that moves tells all, because the line may be at the other node", "[cluster][line]")
{
    require_redis();
    RedisCluster cluster{{.replicas = 0}};
    auto const lock = named_key("job");
    auto const from = cluster.owner_of("job");
    auto const to = (from + 1) % RedisCluster::masters;
    ClusterWaiter holder(cluster, lock);
    ClusterWaiter waiter(cluster, lock);
    static_cast<void>(expect<Granted>(holder.claim(lock, 1, Waits::no)));
    cluster.begin_migration(cluster.slot_of("job"), from, to);
    CHECK_FALSE(expect<Released>(holder.live.release(claim_of(lock, owner(1), 0))).named_another);
    waiter.live.run_until([&] { return waiter.events.size() == 2; });
    CHECK(waiter.events.back() == WatchEvent::hint);
    CHECK(holder.live.logged("line of waiters") == 0);
}

} // namespace tenure::test
