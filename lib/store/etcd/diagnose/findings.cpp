// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Findings of `tenure doctor` about an etcd cluster.
#include "findings.hpp"

#include "store/diagnosis.hpp"
#include "store/etcd/leases/leases.hpp"

#include <array>
#include <charconv>

namespace tenure::etcd
{

namespace
{

using Severity = Finding::Severity;

Finding version(Facts const& facts)
{
    std::string const advice = "leases need etcd 3.4 or newer";
    if (facts.version.empty())
        return {Severity::unverified, "version", "not told", advice};
    std::array<unsigned, 3> number{};
    auto const* const end = facts.version.data() + facts.version.size();
    auto const* at = facts.version.data();
    for (auto& part : number) {
        at = std::from_chars(at, end, part).ptr;
        if (at == end)
            break;
        ++at;
    }
    if (number < std::array{3U, 4U, 0U})
        return {Severity::error, "version", "etcd " + facts.version, advice + ": upgrade the server"};
    if (number < std::array{3U, 4U, 31U} || (number[1] == 5 && number < std::array{3U, 5U, 13U}))
        return {
            Severity::warning, "version", "etcd " + facts.version,
            "a leader that was paused until leases seemed expired to it revokes them when it resumes, even if they "
            "were "
            "renewed at its successor; keys move to new leases after an election, but with a ttl below 10 s that may "
            "come too late, and two may hold a key: take a longer ttl, or upgrade the servers to 3.4.31, 3.5.13 or "
            "newer"};
    return {Severity::ok, "version", "etcd " + facts.version, ""};
}

Finding round_trip(Facts const& facts)
{
    if (facts.round_trips.empty())
        return {
            Severity::error, "round trip", "a read is refused: " + facts.refused,
            "the server cannot answer for a majority now, or the user may not read"};
    // a renewal takes two round trips, and each write waits for the disks of a majority
    return judge_round_trips(facts.round_trips, facts.ttl, 2);
}

Finding leader(Facts const& facts)
{
    if (facts.leader == 0)
        return {
            Severity::error, "leader", "none is known",
            "nothing is granted or renewed without a majority: look at the other members (etcdctl endpoint status)"};
    return {Severity::ok, "leader", "known, in term " + std::to_string(facts.raft_term), ""};
}

Finding members(Facts const& facts)
{
    if (!facts.members)
        return {Severity::unverified, "members", "not told", "three or five members keep leases while one is away"};
    auto const count = *facts.members;
    auto const observed = std::to_string(count) + (count == 1 ? " member" : " members");
    if (count < 3)
        return {
            Severity::warning, "members", observed,
            "leases cannot be renewed while one of them is away: use three or five"};
    return finding(
        count % 2 != 0, Severity::warning, "members", observed,
        "as many may be away as with one member less: an odd number is better");
}

Finding alarms(Facts const& facts)
{
    if (!facts.alarms)
        return {Severity::unverified, "alarms", "not told", "a NOSPACE alarm ends all claims: etcdctl alarm list"};
    if (facts.alarms->empty())
        return {Severity::ok, "alarms", "none", ""};
    std::string names;
    for (auto const& name : *facts.alarms)
        names += (names.empty() ? "" : ", ") + name;
    bool const space = names.find("NOSPACE") != std::string::npos;
    return {
        Severity::error, "alarms", names,
        space ? "nothing is granted any more: compact, etcdctl defrag, then etcdctl alarm disarm; raise "
                "--quota-backend-bytes or let it compact by itself"
              : "a member has lost or changed data: replace it, then etcdctl alarm disarm"};
}

Finding ttl(Facts const& facts)
{
    if (facts.granted_ttl == 0)
        return {Severity::error, "ttl", "no lease is granted: " + facts.grant_refused, "nothing can be held"};
    auto const asked = whole_seconds(facts.ttl);
    auto const observed =
        std::to_string(facts.ttl.count()) + " ms, kept by the server for " + std::to_string(facts.granted_ttl) + " s";
    return finding(
        facts.granted_ttl <= asked, Severity::warning, "ttl", observed,
        "the server's election timeout allows no shorter one: a dead holder's key is taken that long");
}

} // namespace

Findings judge(Facts const& facts)
{
    if (!facts.unreachable.empty())
        return {
            {Severity::error, "connection", facts.unreachable,
             "nothing can be acquired or renewed: check address, network, TLS, user and password"}};
    Findings findings{version(facts), round_trip(facts), leader(facts), members(facts), alarms(facts), ttl(facts)};
    findings.push_back(
        {Severity::ok, "user",
         facts.username.empty() ? std::string("none: any client that reaches the server may change its keys")
                                : facts.username,
         ""});
    return findings;
}

} // namespace tenure::etcd
