// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/pages_in_use.hpp"
#include "library/workloads.hpp"

#include <string>

namespace bench
{

void measure_memory(Setting const& setting)
{
    constexpr unsigned leases = 100'000;
    constexpr std::chrono::seconds ttl{10};
    auto const url = setting.redis.url();
    auto const seconds = setting.extent.renewal_seconds;
    auto const run = [&](unsigned in_flight, double held_for) {
        setting.redis.flush();
        auto const hold = [&] {
            PagesInUse const pages;
            return library::hold_many(url, leases, in_flight, {ttl, held_for});
        };
        return Series{std::to_string(in_flight) + " in flight", {in_child(Place::split, hold, held_for)}};
    };
    auto const few = run(64, seconds);
    auto const all = run(leases, 1);
    setting.redis.flush();
    for (auto const& series : {few, all}) {
        setting.report.medians("a lease as malloc counts", series, "bytes");
        setting.report.medians("a lease as the kernel counts", series, "bytes", 1);
    }
    setting.report.figure("lease_allocated_bytes", few.median(), Goal::at_most, 1024);
    setting.report.figure("lease_resident_bytes", few.median(1), Goal::at_most, 1024);
    setting.report.ratio("resident, all in flight at once over 64", all.median(1) / few.median(1));
    setting.report.figure("renew_100000_cpu_percent", few.median(2), Goal::at_most, 6);
}

void measure_many_leases(Setting const& setting)
{
    constexpr std::chrono::seconds ttl{10};
    constexpr std::chrono::seconds pause{3};
    constexpr unsigned in_flight = 64;
    auto const url = setting.redis.url();
    auto const run = [&](unsigned leases, library::LeasesHeld const& held) {
        setting.redis.flush();
        auto const hold = [&] {
            PagesInUse const pages;
            return library::hold_many(url, leases, in_flight, held);
        };
        // to take a million leases takes some seconds, and a server that is paused adds a ttl
        auto const limit = held.seconds + 120;
        return Series{std::to_string(leases) + " leases", {in_child(Place::split, hold, limit)}};
    };
    auto const million = run(1'000'000, {ttl, setting.extent.renewal_seconds});
    auto const paused = run(300'000, {ttl, 10, setting.redis.pid(), pause});
    setting.redis.flush();
    setting.report.figure("million_leases_cpu_percent", million.median(2), Goal::at_most, 50);
    setting.report.figure("million_leases_allocated_bytes", million.median(), Goal::at_most, 1024);
    setting.report.figure("paused_server_failures_per_lease", paused.median(3), Goal::at_most, 1);
    setting.report.figure("paused_server_renewals", paused.median(4), Goal::at_most, 1.05);
    setting.report.figure("paused_server_memory", paused.median(5) / paused.median(), Goal::at_most, 1.05);
}

} // namespace bench
