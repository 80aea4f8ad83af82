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

} // namespace bench
