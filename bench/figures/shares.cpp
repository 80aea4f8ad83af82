// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that are held in places: fair locks, read-write locks and semaphores.
#include "figures/compared.hpp"

#include "library/workloads.hpp"

#include <array>
#include <functional>
#include <string>

namespace bench
{

namespace
{

/** Each run in a process of its own, on an empty server. */
Candidate on_empty_server(Setting const& setting, std::string name, std::function<Measurement()> measure)
{
    auto run = split(std::move(name), std::move(measure));
    return {std::move(run.name), [&setting, run = std::move(run.run)] {
                setting.redis.flush();
                return run();
            }};
}

void measure_server_cpu(Setting const& setting)
{
    auto const url = setting.redis.url();
    auto const server = setting.redis.pid();
    auto const seconds = setting.extent.pair_seconds;
    auto const locks = [&](char const* name, unsigned keys, library::Features features) {
        return on_empty_server(setting, name, [=] { return library::pairs(url, keys, seconds, features, server); });
    };
    auto const all = interleave(
        setting.extent.rounds,
        {locks("lock, default", 1, library::by_default), locks("fair lock", 1, library::fair),
         locks("64 locks, default", 64, library::by_default), locks("64 fair locks", 64, library::fair)});
    for (auto const& series : all)
        setting.report.medians("pairs", series, "pairs/s");
    for (auto const& series : all)
        setting.report.medians("server CPU of a pair", series, "us", 2);
    setting.report.figure("fair_server_cpu", all[1].median(2) / all[0].median(2), Goal::at_most, 1.5);
    // claims of plain locks that are in flight together share a transaction and a token
    setting.report.ratio("fair/default, server CPU, 64 in flight", all[3].median(2) / all[2].median(2));
}

void measure_cost_by_places(Setting const& setting)
{
    auto const url = setting.redis.url();
    auto const server = setting.redis.pid();
    auto const seconds = setting.extent.pair_seconds;
    constexpr std::array places{1U, 10U, 100U, 1'000U};
    std::vector<Candidate> candidates;
    for (auto const held : places)
        candidates.push_back(on_empty_server(setting, "beside " + std::to_string(held) + " places", [=] {
            return library::semaphore_pairs(url, held, seconds, server);
        }));
    auto const all = interleave(setting.extent.rounds, candidates);
    for (auto const& series : all)
        setting.report.medians("server CPU of a permit taken and given back", series, "us", 2);
    setting.report.figure("places_1000_server_cpu_us", all[3].median(2), Goal::at_most, 70);
    setting.report.figure("places_1000_over_1", all[3].median(2) / all[0].median(2), Goal::at_most, 1.4);
}

/** From release to grant where that many stores of one process wait. */
void measure_chain(Setting const& setting, unsigned waiters)
{
    auto const url = setting.redis.url();
    auto const seconds = setting.extent.pair_seconds * 2;
    auto const chain = [&](char const* name, library::Features features) {
        return on_empty_server(setting, name, [=] { return library::hand_round(url, waiters + 1, seconds, features); });
    };
    auto const all = interleave(
        setting.extent.rounds, {chain("lock, default", library::by_default), chain("fair lock", library::fair)});
    auto const count = std::to_string(waiters);
    for (auto const& series : all)
        setting.report.medians("p50, release to grant, " + count + " wait", series, "us");
    for (auto const& series : all)
        setting.report.medians("hand-overs, " + count + " wait", series, "a second", 1);
    setting.report.figure("fair_handover_" + count, all[1].median() / all[0].median(), Goal::at_most, 1);
}

void measure_readers(Setting const& setting)
{
    auto const url = setting.redis.url();
    auto const seconds = setting.extent.pair_seconds * 2;
    auto const readers = [&](char const* name, bool one_place) {
        return on_empty_server(setting, name, [=] { return library::reads(url, one_place, seconds); });
    };
    auto const all = interleave(
        setting.extent.rounds, {readers("one place for all readers", true), readers("up to 16 places", false)});
    for (auto const& series : all)
        setting.report.medians("16 readers beside 4 writers", series, "reads/s");
    for (auto const& series : all)
        setting.report.medians("the writers beside them", series, "writes/s", 1);
    setting.report.figure("local_readers", all[1].median() / all[0].median(), Goal::at_least, 5);
}

} // namespace

void measure_shares(Setting const& setting)
{
    measure_server_cpu(setting);
    measure_cost_by_places(setting);
    for (auto const waiters : {1U, 10U, 100U})
        measure_chain(setting, waiters);
    measure_readers(setting);
}

} // namespace bench
