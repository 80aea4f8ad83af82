// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "library/workloads.hpp"
#include "raw/workloads.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace bench
{

void measure_first_free(Setting const& setting)
{
    constexpr unsigned keys = 1024;
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const times = setting.extent.first_free;
    auto const run = [&](std::string name, Place place, std::function<Measurement()> measure) {
        return Candidate{std::move(name), [&setting, port, place, measure = std::move(measure)] {
                             setting.redis.flush();
                             raw::hold_all_but_last(port, keys);
                             return in_child(place, measure);
                         }};
    };
    auto const scan = [=](raw::Scan way) { return [=] { return raw::first_free(port, way, keys, times); }; };
    auto const pool = [=](library::Features features) {
        return [=] { return library::first_free(url, keys, times, features); };
    };
    auto const all = interleave(
        setting.extent.rounds,
        {run("raw, EXISTS 64, then each", Place::split, scan(raw::Scan::exists_64_then_each)),
         run("raw, EXISTS 64, then MGET", Place::split, scan(raw::Scan::exists_64_then_mget)),
         run("raw, EXISTS 64, then halves", Place::split, scan(raw::Scan::exists_64_then_halves)),
         run("raw, EXISTS 128, then halves", Place::split, scan(raw::Scan::exists_128_then_halves)),
         run("pool", Place::split, pool(library::plain)), run("pool, default", Place::split, pool(library::by_default)),
         run("raw, EXISTS 64, then halves, same core", Place::same, scan(raw::Scan::exists_64_then_halves)),
         run("pool, same core", Place::same, pool(library::plain)),
         run("pool, default, same core", Place::same, pool(library::by_default)),
         run("SET NX one after another", Place::split,
             [=] { return raw::one_after_another(port, keys, std::max(3U, times / 50)); })});
    setting.redis.flush();
    for (auto const& series : all)
        setting.report.medians("p50, first free of 1024", series, "us");
    auto const best = std::min({all[0].median(), all[1].median(), all[2].median(), all[3].median()});
    auto const pooled = find(all, "pool").median();
    setting.report.figure("first_free_1024", pooled / best, Goal::at_most, 1.25);
    setting.report.figure(
        "first_free_1024_speedup", find(all, "SET NX one after another").median() / pooled, Goal::at_least, 50);
    setting.report.ratio("default/plain, a core each", find(all, "pool, default").median() / pooled);
    setting.report.ratio(
        "default/plain, same core",
        find(all, "pool, default, same core").median() / find(all, "pool, same core").median());
}

} // namespace bench
