// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/etcd_process.hpp"
#include "library/workloads.hpp"
#include "raw/etcd.hpp"

#include <cstdio>
#include <functional>
#include <string>
#include <utility>

namespace bench
{

namespace
{

/// as EtcdConfig has it
constexpr unsigned connections = 32;
constexpr unsigned keys = 64;

} // namespace

void measure_etcd(Setting const& setting)
{
    if (!EtcdProcess::installed()) {
        std::printf("etcd: there is none in PATH, so it is not measured\n");
        return;
    }
    EtcdProcess const server;
    auto const port = server.port();
    auto const url = server.url();
    // each write waits for a disk: short runs say little
    auto const seconds = 2 * setting.extent.pair_seconds;
    auto const pairs = setting.extent.pairs / 20;
    auto const split = [](std::string name, std::function<Measurement()> work) {
        return Candidate{std::move(name), [work = std::move(work)] { return in_child(Place::split, work); }};
    };
    auto const many = interleave(
        setting.extent.rounds,
        {split("raw", [=] { return raw::etcd_pairs(port, keys, connections, seconds); }),
         split("locks", [=] { return library::pairs(url, keys, seconds, {true, false}); }),
         split("one pool of 64", [=] { return library::pool_pairs(url, keys, seconds, {true, false}); })});
    for (auto const& series : many)
        setting.report.medians("etcd, pairs, 64 in flight", series, "pairs/s");
    for (auto const& series : many)
        setting.report.medians("etcd, client CPU of a pair", series, "us", 1);
    setting.report.figure("etcd_pairs_64", many[1].median() / many[0].median(), Goal::at_least, 0.85);
    auto const one = interleave(
        setting.extent.rounds, {split("raw", [=] { return raw::etcd_pair_latency(port, pairs); }),
                                split("lock", [=] { return library::pair_latency(url, pairs, {true, false}); })});
    for (auto const& series : one)
        setting.report.medians("etcd, p50 of a pair", series, "us");
    // in pairs per second, as the other one
    setting.report.figure("etcd_pairs_1", one[0].median() / one[1].median(), Goal::at_least, 0.85);
}

} // namespace bench
