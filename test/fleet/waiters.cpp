// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// 20,000 waiters of one process on 100 keys.
#include "fleet/cases.hpp"
#include "fleet/crowd.hpp"
#include "fleet/measure.hpp"

namespace tenure::fleet
{

namespace
{

constexpr std::size_t keys = 100;
/// F2: the crowd must never stand still
constexpr std::chrono::milliseconds longest_gap{2'000};

} // namespace

Row run_waiters(Servers& servers, Size size)
{
    auto const waiters = size.of(20'000);
    Client client{servers.url()};
    Measure measure{client};
    // five for each key: what the store can do without a crowd
    auto const control = std::make_shared<Crowd>(client, "control:", keys);
    client.call([&] { control->start(5 * keys, wait); });
    (void)client.wait_until([&] { return control->ended(); }, wait + end_slack);
    auto const rate = client.call([&] {
        measure.check_all_granted(control->endings(), 5 * keys);
        return control->rate();
    });
    measure.note("5 for each key " + per_second(rate));

    auto const crowd = std::make_shared<Crowd>(client, "crowd:", keys);
    client.call([&] { crowd->start(waiters, wait); });
    (void)client.wait_until([&] { return crowd->ended(); }, wait + end_slack);
    auto const lost = client.call([&] {
        measure.check_capacity(crowd->endings(), waiters, rate);
        measure.note(std::to_string(waiters / keys) + " for each key " + per_second(crowd->rate()));
        measure.note("longest gap " + in_seconds(crowd->longest_gap()));
        if (crowd->longest_gap() > longest_gap)
            measure.broken("nothing was granted for " + in_seconds(crowd->longest_gap()) + " (F2)");
        for (auto const& one : {control, crowd}) {
            if (one->double_holdings() != 0)
                measure.broken(std::to_string(one->double_holdings()) + " grants of a key that another one held (S1)");
            if (one->tokens_out_of_order() != 0)
                measure.broken(std::to_string(one->tokens_out_of_order()) + " fencing tokens out of order (S10)");
        }
        return control->lost() + crowd->lost();
    });
    if (lost != 0)
        measure.broken(std::to_string(lost) + " leases ended before their release (F1)");
    return measure.finish(waiters);
}

} // namespace tenure::fleet
