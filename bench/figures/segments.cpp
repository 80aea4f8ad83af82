// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "library/workloads.hpp"

#include <functional>
#include <string>

namespace bench
{

void measure_segments(Setting const& setting)
{
    auto const url = setting.redis.url();
    auto const pairs = setting.extent.pairs / 4;
    auto const candidate = [&](std::string name, std::function<Measurement()> measure) {
        return Candidate{std::move(name), [&setting, measure = std::move(measure)] {
                             setting.redis.flush();
                             return in_child(Place::split, measure);
                         }};
    };
    auto const all = interleave(
        setting.extent.rounds,
        {candidate("lock", [=] { return library::pair_latency(url, pairs, library::plain); }),
         candidate("segment of an item", [=] { return library::segment_latency(url, 64, pairs, library::plain); })});
    for (auto const& series : all)
        setting.report.medians("p50 of a pair", series, "us");
    setting.report.figure("segment_hashed", all[1].median() / all[0].median(), Goal::at_most, 1.05);
}

} // namespace bench
