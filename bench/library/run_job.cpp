// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "library/run_job.hpp"

#include "library/contention.hpp"
#include "library/workloads.hpp"

#include <stdexcept>

namespace bench::library
{

Measurement run_job(Job const& job)
{
    auto features = job.by_default ? by_default : plain;
    features.fair = job.fair;
    if (job.workload == "pairs")
        return pairs(job.url, job.count, job.seconds, features, job.server);
    if (job.workload == "pool_pairs")
        return pool_pairs(job.url, job.count, job.seconds, features, job.server);
    if (job.workload == "pair_latency")
        return pair_latency(job.url, job.count, features);
    if (job.workload == "hold_many") {
        LeasesHeld held;
        held.ttl = std::chrono::seconds(10);
        held.seconds = job.seconds;
        held.paused_for = std::chrono::milliseconds(job.pause_ms);
        held.server = job.pause_ms == 0 ? 0 : job.server;
        return hold_many(job.url, job.count, 64, held);
    }
    if (job.workload == "contend") {
        Contention contention;
        contention.slots = job.count;
        contention.hold = std::chrono::milliseconds(job.hold_ms);
        contention.seconds = job.seconds;
        contention.features = features;
        return contend(job.url, contention);
    }
    throw std::invalid_argument("there is no workload " + job.workload);
}

} // namespace bench::library
