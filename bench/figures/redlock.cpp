// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"
#include "figures/peers.hpp"
#include "figures/redlock_servers.hpp"

#include "harness/child.hpp"
#include "library/acquire.hpp"
#include "raw/redlock.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

void measure_redlock_latency(Setting const& setting)
{
    RedlockServers const servers(setting.redis.program(), 5);
    auto const times = setting.extent.pairs / 4;
    auto const ports = servers.ports();
    auto const library = [=, url = servers.url()](library::Features features) {
        return [=] { return library::acquire_latency(url, times, features); };
    };
    auto const raw = [=](raw::Claim claim) { return [=] { return raw::redlock_acquire(ports, times, claim); }; };
    auto const all = interleave(
        setting.extent.rounds,
        {servers.candidate("raw, a core each", Place::split, raw(raw::Claim::plain)),
         servers.candidate("lock, a core each", Place::split, library(library::plain)),
         servers.candidate("raw claim with token, a core each", Place::split, raw(raw::Claim::with_token)),
         servers.candidate("lock with fencing, a core each", Place::split, library({true, false})),
         servers.candidate("lock, default, a core each", Place::split, library(library::by_default)),
         servers.candidate("raw, same core", Place::same, raw(raw::Claim::plain)),
         servers.candidate("lock, same core", Place::same, library(library::plain))});
    for (auto const& series : all)
        setting.report.medians("p50 of an acquire, Redlock of 5", series, "us");
    setting.report.figure("redlock_latency", all[1].median() / all[0].median(), Goal::at_most, 1.3);
    setting.report.figure("redlock_latency_fencing", all[3].median() / all[2].median(), Goal::at_most, 2.4);
    setting.report.note(
        "a lock with fencing over one round of plain SET: " + std::to_string(all[3].median() / all[0].median()));
    setting.report.ratio("default/plain", all[4].median() / all[1].median());
}

void measure_redlock_throughput(Setting const& setting)
{
    constexpr unsigned keys = 64;
    RedlockServers const servers(setting.redis.program(), 3);
    auto const seconds = setting.extent.pair_seconds;
    auto const ports = servers.ports();
    auto const library = [=, url = servers.url()](library::Features features) {
        return [=] { return library::pairs(url, keys, seconds, features); };
    };
    std::vector<Candidate> candidates{
        servers.candidate("raw", Place::split, [=] { return raw::redlock_pairs(ports, keys, seconds); }),
        servers.candidate("locks", Place::split, library(library::plain)),
        servers.candidate("locks, fencing", Place::split, library({true, false})),
        servers.candidate("locks, default", Place::split, library(library::by_default))};
    auto const ours = candidates.size();
    for (auto& peer : peers(setting, ports))
        candidates.push_back(servers.candidate(peer.name, Place::split, peer.run));
    auto const all = interleave(setting.extent.rounds, candidates);
    for (auto const& series : all)
        setting.report.medians("pairs, 64 in flight, Redlock of 3", series, "pairs/s");
    for (auto const& series : all)
        setting.report.medians("client CPU of a pair, Redlock of 3", series, "us", 1);
    setting.report.note("of the raw commands: " + std::to_string(all[1].median() / all[0].median()));
    setting.report.ratio("default/plain", all[3].median() / all[1].median());
    auto const best = best_of_peers(all, ours);
    if (best > 0)
        setting.report.figure("redlock_throughput", all[1].median() / best, Goal::at_least, 2.0);
    else
        setting.report.note("redlock_throughput is against the best peer: scripts/bench --peers");
}

} // namespace bench
