// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/peers.hpp"

#include "harness/child.hpp"
#include "harness/program.hpp"
#include "library/workloads.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench
{

namespace
{

/** A peer's program prints pairs per second and microseconds of CPU per pair. */
Measurement run_peer(
    std::vector<std::string> arguments, std::vector<std::uint16_t> const& ports, unsigned in_flight, double seconds)
{
    arguments.push_back(std::to_string(seconds));
    arguments.push_back(std::to_string(in_flight));
    for (auto const port : ports)
        arguments.push_back(std::to_string(port));
    auto const output = run_program(arguments).output;
    std::istringstream numbers(output);
    Measurement result(2);
    if (!(numbers >> result[0] >> result[1]) || result[0] <= 0)
        throw std::runtime_error(arguments.front() + " answered\n" + output);
    return result;
}

} // namespace

std::vector<Candidate> peers(Setting const& setting, std::vector<std::uint16_t> const& ports, unsigned in_flight)
{
    std::vector<Candidate> all;
    if (setting.peers.empty())
        return all;
    auto const add = [&](std::string name, std::filesystem::path const& needed, std::vector<std::string> arguments) {
        if (!std::filesystem::exists(needed)) {
            setting.report.note(name + " is not installed, and not compared");
            return;
        }
        all.push_back(
            {std::move(name),
             [ports, in_flight, arguments = std::move(arguments), seconds = setting.extent.pair_seconds] {
                 return run_peer(arguments, ports, in_flight, seconds);
             }});
    };
    std::filesystem::path const folder(setting.peers);
    auto const node = folder / "node-redlock";
    add("node-redlock", node / "node_modules" / "redlock", {"node", (node / "pairs.js").string()});
    auto const redsync = folder / "redsync" / "pairs";
    add("redsync", redsync, {redsync.string()});
    return all;
}

double best_of_peers(std::vector<Series> const& all, std::size_t first)
{
    double best = 0;
    for (auto peer = first; peer < all.size(); ++peer)
        best = std::max(best, all[peer].median());
    return best;
}

void measure_peers(Setting const& setting)
{
    constexpr unsigned keys = 64;
    auto const all_peers = peers(setting, {setting.redis.port()});
    if (all_peers.empty()) {
        setting.report.note("peers_64_default is against the best peer: scripts/bench --peers");
        return;
    }
    auto const add = [&setting](std::vector<Candidate>& candidates, std::string name, auto work) {
        candidates.push_back({std::move(name), [&setting, work] {
                                  setting.redis.flush();
                                  return in_child(Place::split, work);
                              }});
    };
    std::vector<Candidate> candidates;
    add(candidates, "locks, default", [url = setting.redis.url(), seconds = setting.extent.pair_seconds] {
        return library::pairs(url, keys, seconds, library::by_default);
    });
    for (auto const& peer : all_peers)
        add(candidates, peer.name, peer.run);
    auto const all = interleave(setting.extent.rounds, candidates);
    for (auto const& series : all)
        setting.report.medians("pairs, 64 in flight, one server", series, "pairs/s");
    setting.report.figure("peers_64_default", all[0].median() / best_of_peers(all, 1), Goal::at_least, 4);
}

} // namespace bench
