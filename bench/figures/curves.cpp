// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The points of the pictures that scripts/bench --pictures draws.
#include "figures/figures.hpp"
#include "figures/peers.hpp"
#include "harness/child.hpp"
#include "harness/pages_in_use.hpp"
#include "library/workloads.hpp"
#include "raw/workloads.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

namespace
{

using namespace std::chrono_literals;

/** Each run in a process of its own and on an empty server: the clients use the same keys. */
Candidate on_empty_server(Setting const& setting, std::string name, std::function<Measurement()> work)
{
    return {std::move(name), [&setting, work = std::move(work)] {
                setting.redis.flush();
                return in_child(Place::split, work);
            }};
}

void pairs_by_leases_in_flight(Setting const& setting)
{
    auto const seconds = setting.extent.pair_seconds;
    auto const port = setting.redis.port();
    for (unsigned const in_flight : {1U, 4U, 16U, 64U, 256U}) {
        std::vector<Candidate> candidates{
            on_empty_server(setting, "raw commands", [=] { return raw::pairs(port, in_flight, seconds); }),
            on_empty_server(setting, "tenure", [=, url = setting.redis.url()] {
                return library::pairs(url, in_flight, seconds, library::by_default);
            })};
        for (auto const& peer : peers(setting, {port}, in_flight))
            candidates.push_back(on_empty_server(setting, peer.name, peer.run));
        for (auto const& series : interleave(setting.extent.rounds, candidates))
            setting.report.point("pairs", series.name, in_flight, 1e6 / series.median());
    }
}

void memory_and_renewals_by_leases(Setting const& setting)
{
    struct Case {
        std::string name;
        std::string url;
    };
    auto const seconds = std::min(setting.extent.renewal_seconds, 20.0);
    for (auto const& [name, url] : {Case{"Redis", setting.redis.url()}, Case{"memory", "memory://"}})
        for (unsigned const leases : {100U, 1000U, 10'000U, 100'000U}) {
            setting.redis.flush();
            auto const hold = [&] {
                PagesInUse const pages;
                return library::hold_many(url, leases, 64, {10s, seconds});
            };
            auto const measured = in_child(Place::split, hold, seconds);
            // of few leases the pages of the heap say nothing
            if (leases >= 1000)
                setting.report.point("memory", name, leases, measured[1]);
            setting.report.point("renewals", name, leases, measured[2]);
        }
    setting.redis.flush();
}

} // namespace

void measure_curves(Setting const& setting)
{
    pairs_by_leases_in_flight(setting);
    memory_and_renewals_by_leases(setting);
}

} // namespace bench
