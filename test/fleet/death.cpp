// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A client dies with 10,000 leases. Once they have expired, all servers are killed and start again.
#include "fleet/cases.hpp"
#include "fleet/held.hpp"

#include <exception>
#include <string>

namespace tenure::fleet
{

namespace
{

/// shorter than elsewhere: the case waits for its end
constexpr std::chrono::milliseconds ttl_of_the_dead{15'000};
/// after the ttl, how late a server may free keys: etcd rounds up, ZooKeeper counts in ticks, and 10,000 expire at once
constexpr std::chrono::milliseconds expiry_slack{5'000};
constexpr std::size_t taken_over = 100;

/** Starts the servers again. Their data may keep them from starting (F3). */
bool restart(Servers& servers, Measure& measure)
{
    try {
        servers.kill();
        servers.start();
        return true;
    } catch (std::exception const& error) {
        measure.broken("the servers do not start again with the data that they have (F3)");
        measure.explain(error.what());
        return false;
    }
}

} // namespace

Row run_death(Servers& servers, Size size)
{
    auto const keys = size.of(10'000);
    Client heir{servers.url()};
    Measure measure{heir};
    Client dead{servers.url()};
    auto const held = hold(dead, measure, "dead:", keys, ttl_of_the_dead);
    if (!held)
        return measure.finish(keys);
    dead.die();
    auto const died = Clock::now();
    // its first keys: these were renewed last, or not at all
    auto const heirs = hold(heir, measure, "dead:", taken_over, ttl_of_the_dead);
    auto const waited = Clock::now() - died;
    measure.note("keys free after " + in_seconds(waited) + " of " + in_seconds(ttl_of_the_dead));
    if (heirs && waited > ttl_of_the_dead + expiry_slack)
        measure.broken("keys of the dead client were free only after " + in_seconds(waited) + " (L1)");
    auto const killed = Clock::now();
    if (!restart(servers, measure))
        return measure.finish(keys);
    measure.note("servers back after " + in_seconds(Clock::now() - killed));
    (void)hold(heir, measure, "new:", taken_over, ttl_of_the_dead);
    return measure.finish(keys);
}

} // namespace tenure::fleet
