// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// All connections are cut at once when 10,000 renewals are under way and 2,000 waiters wait.
#include "fleet/cases.hpp"
#include "fleet/crowd.hpp"
#include "fleet/held.hpp"

#include <utility>

namespace tenure::fleet
{

namespace
{

/// of the leases, those that waiters wait for
constexpr std::size_t wanted_keys = 100;
constexpr std::chrono::milliseconds waiters_limit{60'000};
/// after the cut: connections are made again, and then 20 waiters of each key hold it in turn
constexpr std::chrono::milliseconds service_limit{15'000};

} // namespace

Row run_reconnect(Servers& servers, Size size)
{
    auto const keys = size.of(10'000);
    auto const waiters = size.of(2'000);
    Client client{servers.url()};
    Measure measure{client};
    auto const wanted = hold(client, measure, "wanted:", wanted_keys);
    auto const held = hold(client, measure, "held:", keys);
    if (!held || !wanted)
        return measure.finish(keys);
    measure.note("taken at " + per_second(client.call([&] { return held->rate(); })));
    auto const crowd = std::make_shared<Crowd>(client, "wanted:", wanted_keys);
    client.call([&] { crowd->start(waiters, waiters_limit); });
    wait_for_renewals(client, *held);
    // in the middle of them
    auto const renewals = client.store().statistics().renewals;
    (void)client.wait_until([&] { return client.store().statistics().renewals > renewals + keys / 10; }, renewal_limit);

    auto const cut = Clock::now();
    servers.cut_connections();
    client.call([&] {
        held->begin_to_count_renewed();
        wanted->leases().clear();
    });
    if (!client.wait_until([&] { return crowd->ended(); }, service_limit))
        measure.broken("not all waiters were served within " + in_seconds(service_limit) + " of the cut");
    measure.note("waiters served after " + in_seconds(Clock::now() - cut));
    client.call([&] {
        measure.check_all_granted(crowd->endings(), waiters);
        if (crowd->double_holdings() != 0)
            measure.broken(std::to_string(crowd->double_holdings()) + " grants of a key that another one held (S1)");
        if (crowd->tokens_out_of_order() != 0)
            measure.broken(std::to_string(crowd->tokens_out_of_order()) + " fencing tokens out of order (S10)");
    });
    check_renewed(client, measure, *held, "the cut");
    return measure.finish(keys + wanted_keys);
}

} // namespace tenure::fleet
