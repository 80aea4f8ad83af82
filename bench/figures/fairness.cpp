// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/arena.hpp"
#include "figures/before.hpp"
#include "library/contention.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace bench
{

namespace
{

using library::first_contender;
using library::longest_wait;
using library::total_grants;
using library::wait_p99;

constexpr unsigned contenders = 8;

/** The shares of the contenders of one run, in ascending order. */
std::vector<double> shares(Measurement const& run)
{
    std::vector<double> grants(run.begin() + first_contender, run.end());
    std::sort(grants.begin(), grants.end());
    return grants;
}

/** The share of the least, and of the most favoured, as a multiple of the mean. */
double least_share(Measurement const& run)
{
    return shares(run).front() * contenders / std::max(run[total_grants], 1.0);
}

double most_share(Measurement const& run)
{
    return shares(run).back() * contenders / std::max(run[total_grants], 1.0);
}

void print_runs(Report const& report, Series const& series)
{
    for (auto const& run : series.runs) {
        auto line = series.name + ": grants";
        for (auto const grants : shares(run))
            line += " " + std::to_string(static_cast<long long>(grants));
        char figures[160];
        std::snprintf(
            figures, sizeof figures, ", total %.0f, min/mean %.2f, max/mean %.2f, longest wait %.1f ms, p99 %.1f ms",
            run[total_grants], least_share(run), most_share(run), run[longest_wait], run[wait_p99]);
        report.note(line + figures);
    }
}

/** The worst run of a series counts. */
double worst(Series const& series, double (*value)(Measurement const&), bool highest)
{
    std::vector<double> values;
    for (auto const& run : series.runs)
        values.push_back(value(run));
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    return highest ? *high : *low;
}

struct Case {
    unsigned slots;
    unsigned hold_ms;
};

void report_goals(Setting const& setting, Case const& one, std::string const& name, BeforeAndAfter const& rounds)
{
    auto const& runs = rounds.after(name);
    auto const longest = worst(runs, [](Measurement const& run) { return run[longest_wait]; }, true);
    if (one.hold_ms == 0) {
        setting.report.figure(name + "_longest_ms", longest, Goal::at_most, 100);
        return;
    }
    setting.report.figure(name + "_least", worst(runs, least_share, false), Goal::at_least, 0.5);
    setting.report.figure(name + "_most", worst(runs, most_share, true), Goal::at_most, 2);
    auto const waiters = contenders - one.slots;
    setting.report.figure(name + "_longest_per_waiter_and_hold", longest / (waiters * one.hold_ms), Goal::at_most, 10);
    if (!setting.before.empty())
        setting.report.figure(name + "_total", rounds.ratio(name, total_grants), Goal::at_least, 0.8);
}

void measure(Setting const& setting, Arena const& arena, Case const& one)
{
    auto const name =
        "fairness_" + arena.name() + (one.slots == 1 ? "_lock" : "_3_slots") + "_hold_" + std::to_string(one.hold_ms);
    BeforeAndAfter rounds(setting, [] {});
    Job job;
    job.workload = "contend";
    job.url = arena.url();
    job.count = one.slots;
    job.hold_ms = one.hold_ms;
    job.seconds = setting.extent.contention_seconds;
    rounds.add(name, Place::any, job);
    // runs are long; the worst of them counts, so that one says something
    rounds.run(setting.before.empty() ? 1 : std::min(setting.extent.rounds, 3U));
    for (auto const& series : rounds.all())
        print_runs(setting.report, series);
    rounds.print_ratio(name, "total grants", total_grants);
    if (arena.fair())
        report_goals(setting, one, name, rounds);
}

} // namespace

void measure_fairness(Setting const& setting)
{
    for (auto const& open : arenas()) {
        auto const arena = open(setting);
        if (!arena)
            continue;
        for (auto const hold_ms : {0U, 5U})
            for (auto const slots : {1U, 3U})
                measure(setting, *arena, {slots, hold_ms});
    }
}

} // namespace bench
