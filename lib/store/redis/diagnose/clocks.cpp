// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Clocks of a server and its replicas.
#include "clocks.hpp"

#include "store/redis/replies.hpp"
#include "store/redis/wire/server_error.hpp"

#include <config/number_from.hpp>
#include <store/diagnosis.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

using Severity = Finding::Severity;

constexpr auto subject = "clock of a replica";

/// the margin between ttl and validity, by which clocks may differ safely
std::chrono::nanoseconds margin_of(std::chrono::milliseconds ttl)
{
    return std::chrono::nanoseconds(ttl) / 100 + std::chrono::milliseconds(10);
}

constexpr int readings = 5;

} // namespace

std::optional<ClockReading> read_time(resp::Value const& reply, Instant asked, Instant answered)
{
    auto const shown = read_server_time(reply);
    if (!shown)
        return std::nullopt;
    auto const half = (answered - asked) / 2;
    return ClockReading{*shown - (asked + half).time_since_epoch(), half};
}

std::optional<ClockReading> better(std::optional<ClockReading> const& a, std::optional<ClockReading> const& b)
{
    if (!a || !b)
        return a ? a : b;
    return b->uncertainty < a->uncertainty ? b : a;
}

store::Request<ReplicaClock>
read_clock(Runtime& runtime, ServerAddress replica, std::shared_ptr<Connection> connection, Deadline not_after)
{
    ReplicaClock clock{std::move(replica), std::nullopt, "malformed reply to TIME"};
    for (int i = 0; i < readings; ++i) {
        store::Step<Outcome> ask(
            [&](OutcomeHandler handler) { connection->execute(resp::Command("TIME"), not_after, std::move(handler)); });
        auto const outcome = co_await ask;
        if (!outcome.succeeded()) {
            clock.why_not =
                outcome.delivery == Delivery::answered ? classify(outcome.reply.as_string()).words : outcome.reason();
            break;
        }
        clock.reading = better(clock.reading, read_time(outcome.reply, outcome.since, runtime.now()));
    }
    connection->close();
    co_return std::move(clock);
}

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
    // from here the two clocks were read one after the other, so the uncertainties add up
    auto const ahead = clock.reading->offset - master->offset;
    auto const unknown = clock.reading->uncertainty + master->uncertainty;
    auto const margin = margin_of(ttl);
    auto const observed = where + ": " + milliseconds_and_tenths(std::chrono::abs(ahead)) +
                          (ahead.count() < 0 ? " behind" : " ahead of") + " the master's, give or take " +
                          milliseconds_and_tenths(unknown) + "; ttl " + std::to_string(ttl.count()) + " ms";
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
                milliseconds_and_tenths(margin) + " for this ttl"};
    if (ahead + unknown < -margin)
        return {
            Severity::warning, subject, observed,
            "after a failover to it the slots of dead holders free that much later, and a fencing token may repeat if "
            "the failover is faster than that: let all servers follow the same time"};
    if (std::chrono::abs(ahead) + unknown > margin)
        return {
            Severity::unverified, subject, observed,
            "whether it is within the " + milliseconds_and_tenths(margin) +
                " that leases of this ttl allow cannot be told over such round trips: run this nearer to the servers"};
    return {Severity::ok, subject, observed, ""};
}

} // namespace tenure::redis
