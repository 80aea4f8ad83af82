// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/pages_in_use.hpp"
#include "library/workloads.hpp"
#include "raw/workloads.hpp"

namespace bench
{

void measure_renewals(Setting const& setting)
{
    constexpr unsigned leases = 1000;
    constexpr unsigned ttl_ms = 3000;
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const seconds = setting.extent.renewal_seconds;
    auto const run = [&](auto measure) {
        return [&setting, seconds, measure] {
            setting.redis.flush();
            auto const measured = [&measure] {
                PagesInUse const pages;
                return measure();
            };
            return in_child(Place::split, measured, seconds);
        };
    };
    auto const all = interleave(
        setting.extent.rounds,
        {{"raw, 100 keys to a script", run([=] { return raw::renewals(port, leases, ttl_ms, seconds); })},
         {"leases", run([=] { return library::renewals(url, leases, ttl_ms, seconds); })}});
    setting.redis.flush();
    for (auto const& series : all)
        setting.report.medians("client CPU, 1000 leases of 3 s", series, "% of a core");
    setting.report.medians("renewals of a lease per third of its ttl", all[1], "", 1);
    setting.report.figure("renew_1000_cpu_percent", all[1].median(), Goal::at_most, 0.12);
}

} // namespace bench
