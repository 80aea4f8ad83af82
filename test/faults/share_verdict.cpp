// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "share_verdict.hpp"

#include "share_work.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenure::faults
{

using test::Holding;

namespace
{

/// the mean of turns from which on half and twice of it are not chance
constexpr double enough_turns = 25;

std::string describe(Holding const& lease)
{
    auto const part = Part::of(lease.mark);
    return std::to_string(part.weight) + " of " + std::to_string(part.capacity) + " with number " +
           std::to_string(lease.fencing_token) + " of process " + std::to_string(lease.pid);
}

} // namespace

std::int64_t ShareVerdict::end_of(Holding const& lease) const
{
    auto const end = lease.left != 0 ? std::min(lease.left, lease.valid_until) : lease.valid_until;
    return arena_.frees_at_death && ledger_.dead(lease.pid, end) ? lease.entered : end;
}

std::map<std::string, ShareFigures> ShareVerdict::judge(std::vector<Turn> const& turns, ShareWork const& work)
{
    judge_weights();
    judge_tokens();
    std::map<std::string, ShareFigures> all;
    for (auto cell = arena_.slots; cell < arena_.cells(); ++cell) {
        auto const kind = arena_.kind(cell);
        auto& figures = all[kind == 'f' ? "fair lock" : kind == 'r' ? "read-write lock" : "semaphore"];
        for (auto const& turn : turns) {
            if (turn.cell != cell)
                continue;
            ++(turn.granted != 0 ? figures.grants : figures.timed_out);
            if (turn.granted != 0 && !ledger_.disturbed(turn.pid, cell, turn.began - arena_.ttl_ns(), turn.granted))
                figures.longest_wait = std::max(figures.longest_wait, turn.granted - turn.began);
        }
        judge_fairness(cell, figures, turns, work);
    }
    return all;
}

void ShareVerdict::judge_weights()
{
    std::ranges::stable_sort(leases_, [](Holding const& a, Holding const& b) {
        return std::pair{a.cell, a.entered} < std::pair{b.cell, b.entered};
    });
    std::vector<Holding const*> live;
    for (auto const& lease : leases_) {
        std::erase_if(live, [&](Holding const* earlier) {
            return earlier->cell != lease.cell || end_of(*earlier) <= lease.entered;
        });
        // one that was stopped between grant and entry relies on nothing
        if (end_of(lease) <= lease.entered)
            continue;
        live.push_back(&lease);
        std::uint64_t sum = 0;
        std::uint64_t least = not_yet;
        std::string all;
        for (auto const* const one : live) {
            auto const part = Part::of(one->mark);
            sum += part.weight;
            least = std::min<std::uint64_t>(least, part.capacity);
            all += (all.empty() ? "" : ", ") + describe(*one);
        }
        if (sum <= least)
            continue;
        auto const fault = ledger_.forgotten_by(lease.cell, lease.entered, arena_.ttl_ns());
        if (fault.empty())
            ledger_.breach("S19", arena_.key(lease.cell) + ": live leases exceed the capacity: " + all);
        else
            ledger_.excuse("S19", fault);
    }
}

void ShareVerdict::judge_tokens()
{
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        auto const& later = leases_[i];
        if (end_of(later) <= later.entered)
            continue;
        // leases of the last minute, which is longer than any of them
        for (auto j = i;
             j-- > 0 && leases_[j].cell == later.cell && leases_[j].entered > later.entered - 60'000'000'000;) {
            auto const& earlier = leases_[j];
            if (earlier.fencing_token < later.fencing_token || end_of(earlier) > later.entered ||
                end_of(earlier) <= earlier.entered || !Part::of(earlier.mark).excludes(Part::of(later.mark)))
                continue;
            auto const fault = ledger_.forgotten_by(later.cell, later.entered, 2 * arena_.ttl_ns());
            if (fault.empty())
                ledger_.breach("S20", arena_.key(later.cell) + ": " + describe(later) + " after " + describe(earlier));
            else
                ledger_.excuse("S20", fault);
        }
    }
}

void ShareVerdict::judge_fairness(
    std::uint32_t cell, ShareFigures& figures, std::vector<Turn> const& turns, ShareWork const& work)
{
    std::vector<double> counts(work.peers);
    for (auto const& turn : turns)
        if (turn.cell == cell && turn.granted != 0 && !work.only_tries(turn.began))
            ++counts.at(turn.worker);
    auto const mean = std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(work.peers);
    if (mean < enough_turns)
        return;
    auto const [least, most] = std::ranges::minmax(counts);
    figures.fewest = figures.fewest == 0 ? least / mean : std::min(figures.fewest, least / mean);
    figures.most = std::max(figures.most, most / mean);
    if (least < mean / 2 || most > 2 * mean)
        ledger_.breach(
            "L8", arena_.key(cell) + ": a worker got " + std::to_string(least / mean) + " or " +
                      std::to_string(most / mean) + " of the mean of " + std::to_string(mean) + " turns");
}

} // namespace tenure::faults
