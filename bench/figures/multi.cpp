// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "library/workloads.hpp"
#include "raw/workloads.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace bench
{

void measure_multi(Setting const& setting)
{
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const pairs = setting.extent.pairs / 4;
    auto const candidate = [&](std::string name, Place place, std::function<Measurement()> measure) {
        return Candidate{std::move(name), [&setting, place, measure = std::move(measure)] {
                             setting.redis.flush();
                             return in_child(place, measure);
                         }};
    };
    std::map<unsigned, double> of_multi_lock;
    for (unsigned const keys : {1U, 4U, 16U}) {
        auto const raw = [=](raw::Together together) {
            return [=] { return raw::multi_latency(port, keys, pairs, together); };
        };
        auto const library = [=](library::Features features) {
            return [=] { return library::multi_latency(url, keys, pairs, features); };
        };
        auto const all = interleave(
            setting.extent.rounds,
            {candidate("raw, a script call each", Place::split, raw(raw::Together::write)),
             candidate("raw, one script call", Place::split, raw(raw::Together::script)),
             candidate("MultiLock", Place::split, library(library::plain)),
             candidate("MultiLock, default", Place::split, library(library::by_default)),
             candidate("raw, a script call each, same core", Place::same, raw(raw::Together::write)),
             candidate("raw, one script call, same core", Place::same, raw(raw::Together::script)),
             candidate("MultiLock, same core", Place::same, library(library::plain))});
        auto const name = std::to_string(keys);
        for (auto const& series : all)
            setting.report.medians("p50 of a pair, keys: " + name, series, "us");
        auto const ours = of_multi_lock[keys] = find(all, "MultiLock").median();
        auto const ratio = ours / std::min(all[0].median(), all[1].median());
        if (keys == 1)
            setting.report.figure("multi_1", ratio, Goal::at_most, 1.15);
        else
            setting.report.ratio("MultiLock/raw, keys: " + name, ratio);
        setting.report.ratio("same core, keys: " + name, all[6].median() / std::min(all[4].median(), all[5].median()));
        setting.report.ratio("default/plain, keys: " + name, find(all, "MultiLock, default").median() / ours);
    }
    // a set is composed of leases, each with an owner and a release: a key has a price, and no ratio to a raw client
    setting.report.figure("multi_key_us", (of_multi_lock[16] - of_multi_lock[1]) / 15, Goal::at_most, 6);
}

} // namespace bench
