// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/held.hpp"

#include <thread>

namespace tenure::fleet
{

namespace
{

constexpr std::size_t taken_at_once = 64;
/// for the slowest store on a busy machine
constexpr std::chrono::milliseconds hold_limit{60'000};

/** Between two instants on the test's own thread: nothing can be waited for but the time itself. */
void pause_until(Instant instant)
{
    std::this_thread::sleep_for(instant - Clock::now());
}

} // namespace

std::shared_ptr<Acquisitions>
hold(Client& client, Measure& measure, std::string const& prefix, std::size_t keys, std::chrono::milliseconds their_ttl)
{
    auto held = std::make_shared<Acquisitions>(client, prefix, keys, taken_at_once, their_ttl);
    client.call([&] { held->start(); });
    (void)client.wait_until([&] { return held->ended(); }, hold_limit);
    return client.call([&]() -> std::shared_ptr<Acquisitions> {
        measure.check_all_granted(held->endings(), keys);
        return held->endings().granted == keys ? held : nullptr;
    });
}

void wait_for_renewals(Client& client, Acquisitions& held)
{
    pause_until(client.call([&] { return held.first_grant(); }) + before_renewals);
}

void check_renewed(Client& client, Measure& measure, Acquisitions& held, std::string const& after)
{
    auto const all = client.call([&] { return held.leases().size(); });
    (void)client.wait_until([&] { return held.renewed() == all; }, renewal_limit);
    auto const renewed = client.call([&] { return held.renewed(); });
    if (renewed != all)
        measure.broken(
            part_of(all - renewed, all, "leases were not renewed within ") + in_seconds(renewal_limit) + " of " +
            after + " (F1)");
}

} // namespace tenure::fleet
