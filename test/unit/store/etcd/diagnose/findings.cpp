// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Doctor's findings about an etcd, judged from facts.
#include "store/etcd/diagnose/findings.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

using namespace tenure;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Severity = Finding::Severity;

namespace
{

etcd::Facts good()
{
    etcd::Facts facts;
    facts.ttl = 5s;
    facts.round_trips = {1ms, 2ms, 3ms};
    facts.version = "3.5.16";
    facts.leader = 7;
    facts.raft_term = 3;
    facts.members = 3;
    facts.alarms.emplace();
    facts.granted_ttl = 5;
    return facts;
}

Finding about(etcd::Facts const& facts, std::string const& subject)
{
    auto const findings = etcd::judge(facts);
    auto const found = std::ranges::find(findings, subject, &Finding::subject);
    if (found == findings.end())
        throw std::runtime_error("nothing about " + subject);
    return *found;
}

} // namespace

TEST_CASE("a cluster in good order is told to be so", "[etcd][doctor]")
{
    for (auto const& finding : etcd::judge(good())) {
        CAPTURE(finding.subject);
        CHECK(finding.severity == Severity::ok);
        CHECK(finding.advice.empty());
    }
}

TEST_CASE("a fault of a cluster is reported with its remedy", "[etcd][doctor]")
{
    auto facts = good();
    auto const expect = [&facts](std::string const& subject, Severity severity, std::string const& advice) {
        auto const finding = about(facts, subject);
        CHECK(finding.severity == severity);
        CHECK_THAT(finding.advice, ContainsSubstring(advice));
    };
    facts.version = "3.3.25";
    expect("version", Severity::error, "upgrade");
    for (char const* const version : {"3.4.23", "3.4.30", "3.5.0", "3.5.12", "3.4"}) {
        facts.version = version;
        expect("version", Severity::warning, "3.4.31, 3.5.13");
    }
    for (char const* const version : {"3.4.31", "3.5.13", "3.6.0", "3.10.1", "4.0.0-rc.1"}) {
        facts.version = version;
        expect("version", Severity::ok, "");
    }
    facts.version.clear();
    expect("version", Severity::unverified, "3.4");
    facts.round_trips = {1ms, 300ms};
    expect("round trip", Severity::warning, "raise the ttl");
    facts.round_trips = {1ms, 900ms};
    expect("round trip", Severity::error, "raise the ttl");
    facts.round_trips.clear();
    expect("round trip", Severity::error, "majority");
    facts.leader = 0;
    expect("leader", Severity::error, "majority");
    facts.members = 1;
    expect("members", Severity::warning, "three or five");
    facts.members = 4;
    expect("members", Severity::warning, "odd");
    facts.alarms = {{"NOSPACE"}};
    expect("alarms", Severity::error, "defrag");
    facts.alarms = {{"CORRUPT"}};
    expect("alarms", Severity::error, "replace");
    facts.granted_ttl = 15;
    expect("ttl", Severity::warning, "election timeout");
    facts.granted_ttl = 0;
    expect("ttl", Severity::error, "nothing can be held");
    facts.unreachable = "cannot connect";
    CHECK(etcd::judge(facts).size() == 1);
}
