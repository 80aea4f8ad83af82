// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "replica_clocks.hpp"

#include <config/number_from.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

using Severity = Finding::Severity;
using std::chrono::microseconds;

constexpr auto subject = "clock of a replica";

/// what a holder's validity is less than the ttl: so much may clocks differ without harm
std::chrono::nanoseconds margin_of(std::chrono::milliseconds ttl)
{
    return std::chrono::nanoseconds(ttl) / 100 + std::chrono::milliseconds(10);
}

std::string text(std::chrono::nanoseconds duration)
{
    auto const tenths = std::chrono::duration_cast<microseconds>(std::chrono::abs(duration)).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

} // namespace

std::string field_of(std::string const& line, std::string const& name)
{
    auto const at = ("," + line).find("," + name + "=");
    auto const rest = at == std::string::npos ? std::string() : line.substr(at + name.size() + 1);
    return rest.substr(0, rest.find(','));
}

std::vector<std::string> replica_lines(std::map<std::string, std::string, std::less<>> const& info)
{
    constexpr std::string_view prefix = "slave";
    std::vector<std::string> lines;
    for (auto const& [name, line] : info)
        if (name.starts_with(prefix) && number_from<unsigned>(std::string_view(name).substr(prefix.size())))
            lines.push_back(line);
    return lines;
}

std::vector<ServerAddress> replicas_in(std::map<std::string, std::string, std::less<>> const& info)
{
    std::vector<ServerAddress> replicas;
    for (auto const& line : replica_lines(info)) {
        auto const host = field_of(line, "ip");
        auto const port = number_from<std::uint16_t>(field_of(line, "port"));
        if (may_be_host(host) && port && *port != 0)
            replicas.push_back({host, *port});
    }
    return replicas;
}

Finding judge(ReplicaClock const& clock, std::optional<ClockReading> const& master, std::chrono::milliseconds ttl)
{
    auto const where = to_string(clock.replica);
    if (!clock.reading || !master)
        return {
            Severity::unverified, subject,
            where + ": " + (clock.reading ? "the master's clock could not be read" : clock.why_not),
            "after a failover to it leases end by its clock: make sure that it shows the same time as the master's"};
    // from here the two were asked one after the other: what is unknown of each adds up
    auto const ahead = clock.reading->offset - master->offset;
    auto const unknown = clock.reading->uncertainty + master->uncertainty;
    auto const margin = margin_of(ttl);
    auto const observed = where + ": " + text(ahead) + (ahead.count() < 0 ? " behind" : " ahead of") +
                          " the master's, give or take " + text(unknown) + "; ttl " + std::to_string(ttl.count()) +
                          " ms";
    if (ahead - unknown > ttl)
        return {
            Severity::error, subject, observed,
            "after a failover to it all leases have ended at once, and others are granted what is still held: let all "
            "servers follow the same time"};
    if (ahead - unknown > margin)
        return {
            Severity::warning, subject, observed,
            "after a failover to it leases end that much too soon, and others are granted what is still held: let all "
            "servers follow the same time, to " +
                text(margin) + " for this ttl"};
    if (ahead + unknown < -margin)
        return {
            Severity::warning, subject, observed,
            "after a failover to it the slots of dead holders free that much later, and a fencing token may repeat if "
            "the failover is faster than that: let all servers follow the same time"};
    if (std::chrono::abs(ahead) + unknown > margin)
        return {
            Severity::unverified, subject, observed,
            "whether it is within the " + text(margin) +
                " that leases of this ttl allow cannot be told over such round trips: run this nearer to the servers"};
    return {Severity::ok, subject, observed, ""};
}

} // namespace tenure::redis
