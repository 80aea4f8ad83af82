// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tenure::fleet
{

namespace
{

/// a case has at most two causes for lines (F4): each may be repeated, and names a few keys or nodes
constexpr std::uint64_t most_lines = 40;
/// one outage, or one cut, meets a renewal on its way at most once
constexpr double most_unanswered = 1.0;
/// while servers are away or refuse, the pauses between attempts grow
constexpr double most_refused = 10.0;

std::uint64_t lost_leases(Statistics const& counted)
{
    return counted.lost.total() - counted.lost[CancelReason::store_closed];
}

} // namespace

std::string part_of(std::uint64_t part, std::uint64_t whole, std::string const& things)
{
    return std::to_string(part) + " of " + std::to_string(whole) + " " + things;
}

std::string in_seconds(std::chrono::nanoseconds time)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
    return text;
}

std::string per_second(double rate)
{
    return std::to_string(std::llround(rate)) + "/s";
}

Measure::Measure(Client& client)
    : client_(client)
    , cpu_began_(client.cpu())
{
}

void Measure::add(Endings const& endings)
{
    row_.granted += endings.granted;
    row_.timed_out += endings.timed_out;
    row_.failed += endings.failed;
    for (auto const& [message, count] : endings.errors)
        row_.evidence.push_back(std::to_string(count) + " acquisitions: " + message);
}

void Measure::check_all_granted(Endings const& endings, std::size_t asked)
{
    row_.asked += asked;
    add(endings);
    if (endings.granted != asked)
        broken(part_of(endings.granted, asked, "acquisitions were granted (F1)"));
}

void Measure::check_capacity(Endings const& endings, std::size_t asked, double control_rate)
{
    row_.asked += asked;
    add(endings);
    auto const possible = 0.5 * control_rate * std::chrono::duration<double>(wait).count();
    auto const expected = std::min(asked, static_cast<std::size_t>(possible));
    if (endings.granted < expected)
        broken(
            part_of(endings.granted, asked, "acquisitions were granted: ") + per_second(control_rate) +
            " without a crowd make at least " + std::to_string(expected) + " (F2)");
    if (endings.all() != asked)
        broken(part_of(endings.all(), asked, "acquisitions ended within their wait and ") + in_seconds(end_slack));
    if (endings.unexpected != 0)
        broken(
            std::to_string(endings.unexpected) +
            " acquisitions ended with another error than timed_out and store_unavailable");
}

Row Measure::finish(std::size_t leases)
{
    auto const metrics = client_.store().metrics();
    auto const& counted = metrics.totals;
    row_.time = Clock::now() - began_;
    row_.cpu = client_.cpu() - cpu_began_;
    row_.margin = counted.min_renewal_margin;
    row_.lost = lost_leases(counted);
    auto const& renewals = metrics.requests[static_cast<std::size_t>(RequestKind::renew)].by_outcome;
    auto const per_lease = [&](RequestOutcome outcome) {
        auto const count = renewals[static_cast<std::size_t>(outcome)];
        return leases == 0 ? 0 : static_cast<double>(count) / static_cast<double>(leases);
    };
    row_.unanswered = per_lease(RequestOutcome::unanswered);
    row_.refused = per_lease(RequestOutcome::refused) + per_lease(RequestOutcome::not_sent);
    (void)flush_log(std::chrono::seconds{2});
    row_.lines = client_.log().lines();
    if (row_.lost != 0)
        broken(part_of(row_.lost, leases, "leases were lost (F1)"));
    if (row_.unanswered > most_unanswered)
        broken("renewals of a lease stayed unanswered " + two_decimals(row_.unanswered) + " times on average (F2)");
    if (row_.refused > most_refused)
        broken(
            "renewals of a lease were refused or found no connection " + two_decimals(row_.refused) +
            " times on average (F2)");
    if (row_.lines > most_lines)
        broken(std::to_string(row_.lines) + " log lines (F4)");
    for (auto const& line : client_.log().first())
        row_.evidence.push_back("log: " + line);
    return std::move(row_);
}

} // namespace tenure::fleet
