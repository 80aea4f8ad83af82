// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/before.hpp"

#include <utility>

namespace bench
{

namespace
{

std::string before(std::string const& name)
{
    return name + ", before";
}

} // namespace

BeforeAndAfter::BeforeAndAfter(Setting const& setting, std::function<void()> prepare)
    : setting_(setting)
    , prepare_(std::move(prepare))
{
}

void BeforeAndAfter::add(std::string const& name, Place place, Job const& job)
{
    // the other program is started anew for each run, so this one is, too
    add_candidate(name, "/proc/self/exe", place, job);
    if (!setting_.before.empty())
        add_candidate(before(name), setting_.before, place, job);
}

void BeforeAndAfter::add_candidate(std::string name, std::string const& program, Place place, Job const& job)
{
    candidates_.push_back({std::move(name), [this, program, place, job] {
                               prepare_();
                               return run_job(program, place, job);
                           }});
}

void BeforeAndAfter::run(unsigned rounds)
{
    all_ = interleave(rounds, candidates_);
}

Series const& BeforeAndAfter::after(std::string const& name) const
{
    return find(all_, name);
}

void BeforeAndAfter::print_medians(std::string const& figure, std::string const& unit, std::size_t column) const
{
    for (auto const& series : all_)
        setting_.report.medians(figure, series, unit, column);
}

double BeforeAndAfter::ratio(std::string const& name, std::size_t column) const
{
    if (setting_.before.empty())
        return 0;
    return after(name).median(column) / find(all_, before(name)).median(column);
}

void BeforeAndAfter::print_ratio(std::string const& name, std::string const& what, std::size_t column) const
{
    if (!setting_.before.empty())
        setting_.report.ratio("after/before, " + what + ": " + name, ratio(name, column));
}

void measure_before(Setting const& setting)
{
    if (setting.before.empty()) {
        setting.report.note("nothing to compare with: --before PROGRAM");
        return;
    }
    BeforeAndAfter rounds(setting, [&setting] { setting.redis.flush(); });
    Job job;
    job.url = setting.redis.url();
    job.seconds = setting.extent.pair_seconds;
    job.server = setting.redis.pid();
    auto plain = job;
    plain.by_default = false;
    struct Row {
        std::string name;
        std::string workload;
        Job job;
    };
    std::vector<Row> const pairs{
        {"locks", "pairs", plain}, {"locks, default", "pairs", job}, {"one pool of 64, default", "pool_pairs", job}};
    for (auto row : pairs) {
        row.job.workload = row.workload;
        rounds.add(row.name, Place::split, row.job);
    }
    rounds.run(setting.extent.rounds);
    rounds.print_medians("pairs, 64 in flight", "pairs/s");
    rounds.print_medians("server CPU of a pair", "us", 2);
    for (auto const& row : pairs) {
        rounds.print_ratio(row.name, "pairs/s");
        rounds.print_ratio(row.name, "server CPU of a pair", 2);
    }

    BeforeAndAfter latency(setting, [&setting] { setting.redis.flush(); });
    job.workload = plain.workload = "pair_latency";
    job.count = plain.count = setting.extent.pairs;
    latency.add("lock", Place::same, plain);
    latency.add("lock, default", Place::same, job);
    latency.run(setting.extent.rounds);
    latency.print_medians("p50 of a pair, same core", "us");
    latency.print_ratio("lock", "p50 of a pair");
    latency.print_ratio("lock, default", "p50 of a pair");
}

} // namespace bench
