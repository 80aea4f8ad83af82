// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/before.hpp"

#include "harness/child.hpp"
#include "harness/redis_cluster.hpp"

#include <cstddef>
#include <memory>

namespace bench
{

namespace
{

using tenure::test::RedisCluster;

/** All nodes on the server's core: what a thread starts is held to the core of the thread. */
std::unique_ptr<RedisCluster> start_cluster()
{
    pin(Place::same);
    auto cluster = std::make_unique<RedisCluster>();
    pin(Place::any);
    return cluster;
}

} // namespace

void measure_cluster_pairs(Setting const& setting)
{
    auto const cluster = start_cluster();
    auto const prepare = [&cluster] {
        for (std::size_t node = 0; node < RedisCluster::masters; ++node)
            cluster->server(node).client().call("FLUSHALL");
    };
    BeforeAndAfter many(setting, prepare);
    Job job;
    job.url = cluster->url();
    job.seconds = setting.extent.pair_seconds;
    job.workload = "pairs";
    auto plain = job;
    plain.by_default = false;
    many.add("locks", Place::split, plain);
    many.add("locks, default", Place::split, job);
    many.run(setting.extent.rounds);
    many.print_medians("cluster of 6, pairs, 64 in flight", "pairs/s");
    setting.report.ratio("default/plain", many.after("locks, default").median() / many.after("locks").median());

    BeforeAndAfter one(setting, prepare);
    job.workload = plain.workload = "pair_latency";
    job.count = plain.count = setting.extent.pairs;
    one.add("lock", Place::split, plain);
    one.add("lock, default", Place::split, job);
    one.run(setting.extent.rounds);
    one.print_medians("cluster of 6, p50 of a pair", "us");
    setting.report.ratio("default/plain", one.after("lock, default").median() / one.after("lock").median());

    if (setting.before.empty())
        return;
    setting.report.figure("cluster_pairs", many.ratio("locks, default"), Goal::at_least, 1);
    // in pairs per second, as the other one
    setting.report.figure("cluster_pairs_1", 1 / one.ratio("lock, default"), Goal::at_least, 1);
}

} // namespace bench
