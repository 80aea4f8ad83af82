// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "library/workloads.hpp"
#include "raw/workloads.hpp"

#include <functional>
#include <string>

namespace bench
{

namespace
{

/** Each run in a process of its own, on an empty server. */
Candidate candidate(Setting const& setting, std::string name, Place place, std::function<Measurement()> measure)
{
    return {std::move(name), [&setting, place, measure = std::move(measure)] {
                setting.redis.flush();
                return in_child(place, measure);
            }};
}

} // namespace

void measure_pairs(Setting const& setting)
{
    constexpr unsigned keys = 64;
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const seconds = setting.extent.pair_seconds;
    auto const server = setting.redis.pid();
    auto const locks = [&](library::Features features) {
        return [=] { return library::pairs(url, keys, seconds, features, server); };
    };
    auto const pool = [&](library::Features features) {
        return [=] { return library::pool_pairs(url, keys, seconds, features, server); };
    };
    auto const split = [&](std::string name, std::function<Measurement()> measure) {
        return candidate(setting, std::move(name), Place::split, std::move(measure));
    };
    auto const all = interleave(
        setting.extent.rounds,
        {split("raw", [=] { return raw::pairs(port, keys, seconds); }), split("locks", locks(library::plain)),
         split("locks, fencing", locks({true, false})), split("locks, notifications", locks({false, true})),
         split("locks, default", locks(library::by_default)), split("one pool of 64", pool(library::plain)),
         split("one pool of 64, default", pool(library::by_default))});
    for (auto const& series : all)
        setting.report.medians("pairs, 64 in flight", series, "pairs/s");
    for (auto const& series : all)
        setting.report.medians("client CPU of a pair", series, "us", 1);
    for (auto const& series : all)
        if (series.name != "raw")
            setting.report.medians("server CPU of a pair", series, "us", 2);
    setting.report.figure("pairs_64", all[1].median() / all[0].median(), Goal::at_least, 0.90);
    auto const& plain = find(all, "locks");
    auto const& by_default = find(all, "locks, default");
    setting.report.figure("pairs_64_default", by_default.median() / plain.median(), Goal::at_least, 0.75);
    setting.report.figure("server_cpu_default", by_default.median(2) / plain.median(2), Goal::at_most, 1.3);
    setting.report.ratio(
        "default/plain, one pool of 64",
        find(all, "one pool of 64, default").median() / find(all, "one pool of 64").median());
}

void measure_latency(Setting const& setting)
{
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const pairs = setting.extent.pairs;
    auto const library = [=](library::Features features) {
        return [=] { return library::pair_latency(url, pairs, features); };
    };
    auto const raw = [=] { return raw::pair_latency(port, pairs); };
    auto const all = interleave(
        setting.extent.rounds,
        {candidate(setting, "raw, same core", Place::same, raw),
         candidate(setting, "lock, same core", Place::same, library(library::plain)),
         candidate(
             setting, "raw in an Asio loop, same core", Place::same,
             [=] { return raw::pair_latency_in_a_loop(port, pairs); }),
         candidate(setting, "lock, default, same core", Place::same, library(library::by_default)),
         candidate(setting, "raw, a core each", Place::split, raw),
         candidate(setting, "lock, a core each", Place::split, library(library::plain)),
         candidate(setting, "lock, default, a core each", Place::split, library(library::by_default))});
    for (auto const& series : all)
        setting.report.medians("p50 of a pair", series, "us");
    // the ratio depends on the cost of a system call, which is most of a raw pair; the library's own work does not
    setting.report.figure("latency_1_adds_us", all[1].median() - all[0].median(), Goal::at_most, 8);
    setting.report.ratio("lock/raw, same core", all[1].median() / all[0].median());
    auto const ours = [&](char const* name) { return find(all, name).median(); };
    auto const plain = ours("lock, same core");
    auto const by_default = ours("lock, default, same core");
    setting.report.figure("latency_1_default_adds_us", by_default - plain, Goal::at_most, 4);
    setting.report.ratio("default/plain, same core", by_default / plain);
    setting.report.ratio("default/plain, a core each", ours("lock, default, a core each") / ours("lock, a core each"));
}

} // namespace bench
