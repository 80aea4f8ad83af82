// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// All servers are killed when 10,000 renewals are about to begin, and come back with their data.
#include "fleet/cases.hpp"
#include "fleet/held.hpp"

#include <algorithm>
#include <thread>

namespace tenure::fleet
{

namespace
{

/// how long the servers stay dead; starting them takes its own time
constexpr std::chrono::milliseconds down_time{2'000};

} // namespace

Row run_restart(Servers& servers, Size size)
{
    auto const keys = size.of(10'000);
    Client client{servers.url()};
    Measure measure{client};
    auto const tolerated = Lock{client.store(), {.key = "any", .ttl = ttl}}.tolerated_outage();
    auto const held = hold(client, measure, "held:", keys);
    if (!held)
        return measure.finish(keys);
    measure.note("taken at " + per_second(client.call([&] { return held->rate(); })));
    wait_for_renewals(client, *held);
    auto const killed = Clock::now();
    servers.kill();
    std::this_thread::sleep_for(down_time);
    servers.start();
    auto const back = Clock::now();
    client.call([&] { held->begin_to_count_renewed(); });
    measure.note("outage " + in_seconds(back - killed) + " of " + in_seconds(tolerated));
    // a slow machine would be taken for a fault of the library
    if (back - killed > tolerated * 3 / 4)
        measure.broken(
            "the servers needed " + in_seconds(back - killed) + " to come back, which leases need not outlive");
    check_renewed(client, measure, *held, "the restart");
    measure.note("all renewed " + in_seconds(Clock::now() - back) + " later");
    return measure.finish(keys);
}

} // namespace tenure::fleet
