// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// 10,000 acquisitions begin at once when the renewals of 1,000 leases are about to begin.
#include "fleet/cases.hpp"
#include "fleet/held.hpp"

namespace tenure::fleet
{

Row run_burst(Servers& servers, Size size)
{
    auto const held_keys = size.of(1'000);
    auto const burst_keys = size.of(10'000);
    Client client{servers.url()};
    Measure measure{client};
    auto const held = hold(client, measure, "held:", held_keys);
    if (!held)
        return measure.finish(held_keys);
    auto const control = client.call([&] { return held->rate(); });
    measure.note("64 at a time " + per_second(control));
    wait_for_renewals(client, *held);

    auto const began = Clock::now();
    auto const burst = std::make_shared<Acquisitions>(client, "burst:", burst_keys, burst_keys);
    client.call([&] {
        held->begin_to_count_renewed();
        burst->start();
    });
    (void)client.wait_until([&] { return burst->ended(); }, wait + end_slack);
    client.call([&] {
        measure.check_capacity(burst->endings(), burst_keys, control);
        measure.note("all at once " + per_second(burst->rate()));
        burst->begin_to_count_renewed();
    });
    measure.note("ended after " + in_seconds(Clock::now() - began));
    check_renewed(client, measure, *held, "the burst");
    // the leases of the burst fall due together
    check_renewed(client, measure, *burst, "their grant");
    auto row = measure.finish(held_keys + burst_keys);
    if (row.margin < ttl / 3)
        row.breaches.push_back("a renewal was answered only " + in_seconds(row.margin) + " before its token (F1)");
    return row;
}

} // namespace tenure::fleet
