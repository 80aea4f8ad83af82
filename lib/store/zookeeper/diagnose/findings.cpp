// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "examine.hpp"

#include <algorithm>
#include <cstdio>

namespace tenure::zookeeper
{

namespace
{

using Severity = Finding::Severity;
using std::chrono::milliseconds;

/// leases of so many ticks and up have time to stop, and to bear a server that fails
constexpr int comfortable_ticks = 4;

std::string text(milliseconds value)
{
    return std::to_string(value.count()) + " ms";
}

std::string text(std::vector<std::chrono::nanoseconds> const& values)
{
    std::array<char, 64> line{};
    auto const [least, most] = std::ranges::minmax(values);
    std::snprintf(
        line.data(), line.size(), "%.2f to %.2f ms", static_cast<double>(least.count()) / 1e6,
        static_cast<double>(most.count()) / 1e6);
    return line.data();
}

void judge_limits(Facts const& facts, Findings& findings)
{
    if (!facts.shortest || !facts.longest) {
        findings.push_back(
            {Severity::unverified, "session timeouts", "the server did not open sessions to try its limits",
             "look at tickTime, minSessionTimeout and maxSessionTimeout in its configuration"});
        return;
    }
    auto const seen = "the server grants " + text(*facts.shortest) + " to " + text(*facts.longest);
    bool const fits = facts.ttl >= *facts.shortest && facts.ttl <= *facts.longest;
    findings.push_back(
        {fits ? Severity::ok : Severity::warning, "session timeouts", seen,
         fits ? ""
              : "a ttl of " + text(facts.ttl) +
                    " becomes the nearest of these; ask for another ttl, or change minSessionTimeout and "
                    "maxSessionTimeout of the servers"});
    bool const longer = *facts.shortest > facts.tick * 2;
    findings.push_back(
        {longer ? Severity::warning : Severity::ok, "tick",
         "configured here: " + text(facts.tick) + "; the shortest timeout is two ticks unless a server is set up " +
             "otherwise, so theirs is about " + text(*facts.shortest / 2),
         longer ? "if that is their tickTime, say so (?tick=" + std::to_string((*facts.shortest / 2).count()) +
                      "ms): validity rests on it"
                : ""});
}

} // namespace

Findings judge(Facts const& facts)
{
    Findings findings;
    if (!facts.unreachable.empty()) {
        findings.push_back(
            {Severity::error, "connection", facts.unreachable,
             "check the servers' addresses, that they run and have a leader, and that nothing between blocks their "
             "client port"});
        return findings;
    }
    auto const slowest = std::ranges::max(facts.writes);
    bool const slow = slowest > facts.ttl / 10;
    findings.push_back({Severity::ok, "round trip", "reads " + text(facts.round_trips), ""});
    findings.push_back(
        {slow ? Severity::warning : Severity::ok, "writes", "a write takes " + text(facts.writes),
         slow ? "that is more than a tenth of the ttl of " + text(facts.ttl) +
                    "; give the servers' log a disk of its own, or use a longer ttl"
              : ""});
    judge_limits(facts, findings);
    bool const tight = facts.ttl < facts.tick * comfortable_ticks;
    findings.push_back(
        {tight ? Severity::warning : Severity::ok, "ttl",
         text(facts.ttl) + ", " + std::to_string(facts.ttl / facts.tick) + " ticks of " + text(facts.tick),
         tight ? "more than a tick of it is always unproven; use a ttl of at least " +
                     text(facts.tick * comfortable_ticks) + ", or a shorter tickTime"
               : ""});
    findings.push_back(
        {facts.refused.empty() ? Severity::ok : Severity::error, "permissions",
         facts.refused.empty() ? "nodes can be created and removed" : facts.refused,
         facts.refused.empty() ? "" : "leases cannot be acquired before that is put right"});
    findings.push_back(
        {facts.logged_in ? Severity::ok : Severity::warning, "access",
         facts.logged_in ? "nodes belong to the digest user alone"
                         : "no login: whoever reaches the servers may change "
                           "or delete the nodes of leases",
         facts.logged_in ? "" : "give user and password: zookeeper://USER:PASSWORD@HOST/..."});
    findings.push_back(
        {facts.servers >= 3 ? Severity::ok : Severity::unverified, "servers",
         std::to_string(facts.servers) + (facts.servers == 1 ? " server is" : " servers are") + " named",
         facts.servers >= 3 ? "" : "where there are more, name them all: leases outlast the loss of a minority"});
    return findings;
}

} // namespace tenure::zookeeper
