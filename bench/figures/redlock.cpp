// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/program.hpp"
#include "library/acquire.hpp"
#include "raw/redlock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

namespace
{

/** Independent servers, all held to the server's core. */
class Servers
{
public:
    Servers(std::string const& program, std::size_t count)
    {
        for (std::size_t server = 0; server < count; ++server)
            all_.push_back(std::make_unique<RedisProcess>(program));
    }

    [[nodiscard]] std::vector<std::uint16_t> ports() const
    {
        std::vector<std::uint16_t> all;
        for (auto const& server : all_)
            all.push_back(server->port());
        return all;
    }

    [[nodiscard]] std::string url() const
    {
        std::string url = "redlock://";
        for (auto const port : ports())
            url += (url.back() == '/' ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
        return url;
    }

    /** Each run in a process of its own, on empty servers. */
    [[nodiscard]] Candidate candidate(std::string name, Place place, std::function<Measurement()> measure) const
    {
        return {std::move(name), [this, place, measure = std::move(measure)] {
                    for (auto const& server : all_)
                        server->flush();
                    return in_child(place, measure);
                }};
    }

private:
    std::vector<std::unique_ptr<RedisProcess>> all_;
};

/** A peer's program prints pairs per second and microseconds of CPU per pair. */
Measurement run_peer(std::vector<std::string> arguments, std::vector<std::uint16_t> const& ports, double seconds)
{
    constexpr auto in_flight = "64";
    arguments.push_back(std::to_string(seconds));
    arguments.emplace_back(in_flight);
    for (auto const port : ports)
        arguments.push_back(std::to_string(port));
    auto const output = run_program(arguments).output;
    std::istringstream numbers(output);
    Measurement result(2);
    if (!(numbers >> result[0] >> result[1]) || result[0] <= 0)
        throw std::runtime_error(arguments.front() + " answered\n" + output);
    return result;
}

/** The peers that scripts/bench --peers has installed. */
std::vector<Candidate> peers(Setting const& setting, Servers const& servers)
{
    std::vector<Candidate> all;
    if (setting.peers.empty())
        return all;
    auto const add = [&](std::string name, std::filesystem::path const& needed, std::vector<std::string> arguments) {
        if (!std::filesystem::exists(needed)) {
            setting.report.note(name + " is not installed, and not compared");
            return;
        }
        all.push_back(servers.candidate(
            std::move(name), Place::split,
            [ports = servers.ports(), arguments = std::move(arguments), seconds = setting.extent.pair_seconds] {
                return run_peer(arguments, ports, seconds);
            }));
    };
    std::filesystem::path const folder(setting.peers);
    auto const node = folder / "node-redlock";
    add("node-redlock", node / "node_modules" / "redlock", {"node", (node / "pairs.js").string()});
    auto const redsync = folder / "redsync" / "pairs";
    add("redsync", redsync, {redsync.string()});
    return all;
}

} // namespace

void measure_redlock_latency(Setting const& setting)
{
    Servers const servers(setting.redis.program(), 5);
    auto const times = setting.extent.pairs / 4;
    auto const ports = servers.ports();
    auto const library = [=, url = servers.url()](library::Features features) {
        return [=] { return library::acquire_latency(url, times, features); };
    };
    auto const raw = [=](raw::Claim claim) { return [=] { return raw::redlock_acquire(ports, times, claim); }; };
    auto const all = interleave(
        setting.extent.rounds,
        {servers.candidate("raw, a core each", Place::split, raw(raw::Claim::plain)),
         servers.candidate("lock, a core each", Place::split, library({false, false})),
         servers.candidate("raw claim with token, a core each", Place::split, raw(raw::Claim::with_token)),
         servers.candidate("lock with fencing, a core each", Place::split, library({true, false})),
         servers.candidate("raw, same core", Place::same, raw(raw::Claim::plain)),
         servers.candidate("lock, same core", Place::same, library({false, false}))});
    for (auto const& series : all)
        setting.report.medians("p50 of an acquire, Redlock of 5", series, "us");
    setting.report.figure("redlock_latency", all[1].median() / all[0].median(), Goal::at_most, 1.3);
    setting.report.figure("redlock_latency_fencing", all[3].median() / all[2].median(), Goal::at_most, 2.4);
    setting.report.note(
        "a lock with fencing over one round of plain SET: " + std::to_string(all[3].median() / all[0].median()));
}

void measure_redlock_throughput(Setting const& setting)
{
    constexpr unsigned keys = 64;
    Servers const servers(setting.redis.program(), 3);
    auto const seconds = setting.extent.pair_seconds;
    auto const ports = servers.ports();
    auto const library = [=, url = servers.url()](library::Features features) {
        return [=] { return library::pairs(url, keys, seconds, features); };
    };
    std::vector<Candidate> candidates{
        servers.candidate("raw", Place::split, [=] { return raw::redlock_pairs(ports, keys, seconds); }),
        servers.candidate("locks", Place::split, library({false, false})),
        servers.candidate("locks, fencing", Place::split, library({true, false}))};
    constexpr std::size_t ours = 3;
    for (auto& peer : peers(setting, servers))
        candidates.push_back(std::move(peer));
    auto const all = interleave(setting.extent.rounds, candidates);
    for (auto const& series : all)
        setting.report.medians("pairs, 64 in flight, Redlock of 3", series, "pairs/s");
    for (auto const& series : all)
        setting.report.medians("client CPU of a pair, Redlock of 3", series, "us", 1);
    setting.report.note("of the raw commands: " + std::to_string(all[1].median() / all[0].median()));
    double best = 0;
    for (auto peer = ours; peer < all.size(); ++peer)
        best = std::max(best, all[peer].median());
    if (best > 0)
        setting.report.figure("redlock_throughput", all[1].median() / best, Goal::at_least, 2.0);
    else
        setting.report.note("redlock_throughput is against the best peer: scripts/bench --peers");
}

} // namespace bench
