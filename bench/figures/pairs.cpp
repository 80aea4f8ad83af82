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
    auto const locks = [&](library::Features features) {
        return [=] { return library::pairs(url, keys, seconds, features); };
    };
    auto const pool = [&](library::Features features) {
        return [=] { return library::pool_pairs(url, keys, seconds, features); };
    };
    auto const split = [&](std::string name, std::function<Measurement()> measure) {
        return candidate(setting, std::move(name), Place::split, std::move(measure));
    };
    auto const all = interleave(
        setting.extent.rounds,
        {split("raw", [=] { return raw::pairs(port, keys, seconds); }), split("locks", locks({false, false})),
         split("locks, fencing", locks({true, false})), split("locks, wake-ups", locks({false, true})),
         split("locks, fencing and wake-ups", locks({true, true})), split("one pool of 64", pool({false, false})),
         split("one pool of 64, fencing and wake-ups", pool({true, true}))});
    for (auto const& series : all)
        setting.report.medians("pairs, 64 in flight", series, "pairs/s");
    for (auto const& series : all)
        setting.report.medians("client CPU of a pair", series, "us", 1);
    setting.report.figure("pairs_64", all[1].median() / all[0].median(), Goal::at_least, 0.90);
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
         candidate(setting, "lock, same core", Place::same, library({false, false})),
         candidate(
             setting, "raw in an Asio loop, same core", Place::same,
             [=] { return raw::pair_latency_in_a_loop(port, pairs); }),
         candidate(setting, "lock with fencing and wake-ups, same core", Place::same, library({true, true})),
         candidate(setting, "raw, a core each", Place::split, raw),
         candidate(setting, "lock, a core each", Place::split, library({false, false}))});
    for (auto const& series : all)
        setting.report.medians("p50 of a pair", series, "us");
    setting.report.figure("latency_1", all[1].median() / all[0].median(), Goal::at_most, 1.20);
}

} // namespace bench
