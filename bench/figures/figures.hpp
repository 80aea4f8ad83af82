// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/redis_process.hpp"
#include "harness/report.hpp"

#include <string>

namespace bench
{

/** How long and how often is measured. */
struct Extent {
    /// interleaved rounds of each figure
    unsigned rounds = 7;
    /// length of one run of pairs
    double pair_seconds = 1;
    /// pairs in one run of the latency, and commands in one run of the floor
    unsigned pairs = 20'000;
    /// acquisitions in one run of the first free key
    unsigned first_free = 500;
    /// hand-overs in one run
    unsigned handovers = 200;
    /// length of one run of the renewals
    double renewal_seconds = 60;
    /// length of one run of contenders
    double contention_seconds = 15;
};

/** The input of every figure. */
struct Setting {
    RedisProcess const& redis;
    Extent extent;
    Report& report;
    /// where scripts/bench --peers has installed them; empty: they are not asked for
    std::string peers;
    /// path of a tenure_bench that was built with an older library; empty: compare with no other build
    std::string before;
};

/** The raw client against `redis-benchmark -c 1`: whether the floor is one. */
void measure_floor(Setting const& setting);
/** Pairs per second, 64 in flight on 64 keys. */
void measure_pairs(Setting const& setting);
/** Pairs per second with default options, 64 in flight on 64 keys of one server, over the best peer. */
void measure_peers(Setting const& setting);
/** Pairs and latency with default options, by this program and by the one of `--before`. */
void measure_before(Setting const& setting);
/** Pairs with default options on a cluster, 64 in flight and one after another. */
void measure_cluster_pairs(Setting const& setting);
/** How 8 contenders share one lock, and three slots, on each store. */
void measure_fairness(Setting const& setting);
/** One pair after another, client and server on one core. */
void measure_latency(Setting const& setting);
/** The first free of 1,024 where only the last is free. */
void measure_first_free(Setting const& setting);
/** One acquisition after another over five independent servers. */
void measure_redlock_latency(Setting const& setting);
/** Pairs per second over three independent servers, 64 in flight on 64 keys. */
void measure_redlock_throughput(Setting const& setting);
/** Pairs on an etcd of its own, 64 in flight and one after another, and hand-overs; nothing where there is no etcd. */
void measure_etcd(Setting const& setting);
/** Measures a ZooKeeper server; skipped without a server, or if the library was built without ZooKeeper. */
void measure_zookeeper(Setting const& setting);
/** Measures the store on PostgreSQL beside plain statements; nothing where there is no server. */
void measure_postgresql(Setting const& setting);
/** Pairs, the first free of 1,024, hand-overs beside flock(2) and renewals in a directory. */
void measure_file(Setting const& setting);
/** From release to acquire in another process. */
void measure_handover(Setting const& setting);
/** Fair locks and semaphores beside plain locks, and local readers. */
void measure_shares(Setting const& setting);
/** One MultiLock after another, of 1, 4 and 16 keys. */
void measure_multi(Setting const& setting);
/** The segment of one item after another, over one lock after another. */
void measure_segments(Setting const& setting);
/** A further acquisition of a re-entrant lock, and its end. */
void measure_reentry(Setting const& setting);
/** The cost of 1,000 leases of 3 s for their holder. */
void measure_renewals(Setting const& setting);
/** The memory of each of 100,000 leases of 10 s, and the cost of their renewals. */
void measure_memory(Setting const& setting);
void measure_many_leases(Setting const& setting);
/** How pairs, memory and renewals grow with the number of leases; only on demand. */
void measure_curves(Setting const& setting);
/** The cost of `#include <tenure/tenure.hpp>`. */
void measure_compile_time(Setting const& setting);

} // namespace bench
