// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "library/workloads.hpp"

namespace bench
{

void measure_reentry(Setting const& setting)
{
    auto const times = setting.extent.pairs * 25;
    auto const url = setting.redis.url();
    auto const all = interleave(
        setting.extent.rounds, {{"ReentrantLock", [&] {
                                     setting.redis.flush();
                                     return in_child(Place::split, [&] { return library::reentry(url, times); });
                                 }}});
    setting.redis.flush();
    setting.report.medians("re-entry and its release", all[0], "ns");
    setting.report.medians("re-entry and the end of its ReentrantLease", all[0], "ns", 1);
    setting.report.figure("reentry_ns", all[0].median(), Goal::at_most, 1000);
}

} // namespace bench
