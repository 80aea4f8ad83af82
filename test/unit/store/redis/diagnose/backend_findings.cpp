// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/diagnose/findings.hpp"
#include "store/redis/wire/server_info.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::redis;
using Severity = Finding::Severity;

namespace
{

Facts healthy()
{
    Facts facts;
    facts.ttl = 5s;
    facts.server = {"redis", "7.0.15", "standalone", "master", 3};
    facts.round_trips = {1ms, 2ms, 3ms};
    facts.info = {{"role", "master"}, {"connected_slaves", "0"}};
    facts.settings = {
        {"appendonly", "yes"}, {"appendfsync", "always"}, {"maxmemory", "0"}, {"maxmemory-policy", "noeviction"}};
    facts.permissions_known = true;
    return facts;
}

Finding about(Facts const& facts, std::string const& subject)
{
    auto const findings = judge(facts);
    auto const found = std::find_if(
        findings.begin(), findings.end(), [&](Finding const& finding) { return finding.subject == subject; });
    REQUIRE(found != findings.end());
    return *found;
}

} // namespace

TEST_CASE("a healthy server gives no advice but about its clock, which nobody told", "[redis][findings]")
{
    for (auto const& finding : judge(healthy())) {
        CAPTURE(finding.subject, finding.observed);
        if (finding.subject == "clock") {
            CHECK(finding.severity == Severity::unverified);
            continue;
        }
        CHECK(finding.severity == Severity::ok);
        CHECK(finding.advice.empty());
    }
}

TEST_CASE("everything that is not well comes with advice", "[redis][findings]")
{
    Facts bad;
    bad.ttl = 100ms;
    bad.round_trips = {90ms};
    for (auto const& finding : judge(bad)) {
        CAPTURE(finding.subject);
        CHECK(finding.severity != Severity::ok);
        CHECK_FALSE(finding.advice.empty());
    }
}

TEST_CASE("old servers, replicas, sentinels and cluster nodes are errors", "[redis][findings]")
{
    auto facts = healthy();
    facts.server.version = "5.0.14";
    CHECK(about(facts, "version").severity == Severity::error);
    facts = healthy();
    facts.info["role"] = "slave";
    CHECK(about(facts, "role").severity == Severity::error);
    facts = healthy();
    facts.server.mode = GENERATE("sentinel", "cluster");
    CHECK(about(facts, "role").severity == Severity::error);
}

TEST_CASE("the ttl must be worth several round trips", "[redis][findings]")
{
    auto facts = healthy();
    facts.round_trips = {1ms, 1ms, 600ms};
    CHECK(about(facts, "round trip").severity == Severity::warning);
    facts.round_trips = {1ms, 1ms, 1700ms};
    CHECK(about(facts, "round trip").severity == Severity::error);
}

TEST_CASE("replicas without min-replicas-to-write are warned of", "[redis][findings]")
{
    auto facts = healthy();
    facts.info["connected_slaves"] = "2";
    CHECK(about(facts, "replicas").severity == Severity::unverified);
    facts.settings["min-replicas-to-write"] = "0";
    CHECK(about(facts, "replicas").severity == Severity::warning);
    facts.settings["min-replicas-to-write"] = "1";
    CHECK(about(facts, "replicas").severity == Severity::ok);
}

TEST_CASE(
    "where leases wait for replicas, so many must be there, and all of them is what guarantees", "[redis][findings]")
{
    auto facts = healthy();
    facts.acknowledged_by = 2;
    facts.info["connected_slaves"] = "2";
    facts.info["slave0"] = "ip=10.0.0.7,port=6380,state=online,offset=1234,lag=0";
    facts.info["slave1"] = "ip=10.0.0.8,port=6381,state=online,offset=1230,lag=1";
    facts.info["slave_read_only"] = "1";
    CHECK(about(facts, "replicas").severity == Severity::ok);

    facts.info["slave1"] = "ip=10.0.0.8,port=6381,state=online,offset=1230,lag=12";
    CHECK(about(facts, "replicas").severity == Severity::warning);
    CHECK(about(facts, "replicas").observed.ends_with("; 10.0.0.8:6381 (12 s behind)"));
    facts.info["slave1"] = "ip=10.0.0.8,port=6381,state=wait_bgsave,offset=0,lag=0";
    CHECK(about(facts, "replicas").observed.ends_with("; 10.0.0.8:6381 (wait_bgsave)"));

    facts.info["connected_slaves"] = "1";
    CHECK(about(facts, "replicas").severity == Severity::error);
    facts.info["connected_slaves"] = "3";
    facts.info.erase("slave1");
    CHECK(about(facts, "replicas").severity == Severity::warning);
    CHECK(about(facts, "replicas").advice.find("ask for all of them") != std::string::npos);
    facts.info.erase("connected_slaves");
    CHECK(about(facts, "replicas").severity == Severity::unverified);
}

TEST_CASE("a user that may not wait for replicas lacks a permission that leases need", "[redis][findings]")
{
    auto facts = healthy();
    facts.acknowledged_by = 1;
    facts.refused_commands = {"wait"};
    CHECK(about(facts, "permissions").severity == Severity::error);
    CHECK(about(facts, "permissions").observed == "missing: +wait");
    CHECK(about(facts, "permissions").advice.ends_with("and for replicas +wait"));
}

TEST_CASE("an eviction policy matters only under a memory limit", "[redis][findings]")
{
    auto facts = healthy();
    facts.settings["maxmemory-policy"] = "volatile-ttl";
    CHECK(about(facts, "eviction policy").severity == Severity::ok);
    facts.settings["maxmemory"] = "1048576";
    CHECK(about(facts, "eviction policy").severity == Severity::warning);
    facts.settings.erase("maxmemory");
    CHECK(about(facts, "eviction policy").severity == Severity::warning);
}

TEST_CASE("a missing permission for notifications only is a warning", "[redis][findings]")
{
    auto facts = healthy();
    auto const all = commands_to_check();
    auto const publish = std::find_if(
        all.begin(), all.end(), [](CommandToCheck const& command) { return command.words[0] == "publish"; });
    facts.missing_permissions = {&*publish};
    CHECK(about(facts, "permissions").severity == Severity::warning);
    facts.missing_permissions.push_back(all.data());
    CHECK(about(facts, "permissions").severity == Severity::error);
    CHECK(about(facts, "permissions").observed == "missing: +publish +eval");
}

TEST_CASE(
    "a missing permission for the line of waiters costs the order, and is reported with the keys", "[redis][findings]")
{
    auto facts = healthy();
    for (auto const& command : commands_to_check())
        if (command.without == CommandToCheck::Without::waiting_in_line)
            facts.missing_permissions.push_back(&command);
    auto const finding = about(facts, "permissions");
    CHECK(finding.severity == Severity::warning);
    CHECK(finding.observed == "missing: +lpos +rpush +lpush +lpop +lrem +lrange +llen");
    CHECK(finding.advice.find("served in no order") != std::string::npos);
    CHECK(finding.advice.find("~{PREFIX*}:waiting ~{PREFIX*}:watched") != std::string::npos);
}

TEST_CASE("without MULTI or EXEC nothing is claimed, and the counter is among what to grant", "[redis][findings]")
{
    auto facts = healthy();
    auto const* const name = GENERATE("multi", "exec");
    auto const all = commands_to_check();
    facts.missing_permissions = {&*std::find_if(
        all.begin(), all.end(), [&](CommandToCheck const& command) { return command.words[0] == name; })};
    auto const finding = about(facts, "permissions");
    CHECK(finding.severity == Severity::error);
    CHECK(finding.advice.find("+multi +exec") != std::string::npos);
    CHECK(finding.advice.find("~tenure:fence,") != std::string::npos);
    facts.server.mode = "cluster";
    CHECK(about(facts, "permissions").advice.find("~tenure:fence:*") != std::string::npos);
}

TEST_CASE("in a cluster other permissions count, and their absence means something else", "[redis][findings]")
{
    auto const names_for = [](ServerInfo const& server) {
        std::string names;
        for (auto const& command : commands_to_check())
            if (command.concerns(server) && command.without != CommandToCheck::Without::nothing &&
                command.without != CommandToCheck::Without::waiting_in_line)
                names += std::string(command.words[0]) + ' ';
        return names;
    };
    CHECK(
        names_for({"redis", "7.0.15", "standalone", "master"}) ==
        "hget hmget hset hdel hgetall publish subscribe unsubscribe ");
    CHECK(
        names_for({"redis", "6.2.0", "cluster", "master"}) ==
        "hget hmget hset hdel hgetall publish subscribe unsubscribe asking ");
    CHECK(
        names_for({"redis", "7.0.15", "cluster", "master"}) ==
        "hget hmget hset hdel hgetall spublish ssubscribe sunsubscribe asking ");

    auto facts = healthy();
    facts.server.mode = "cluster";
    auto const all = commands_to_check();
    auto const asking = std::find_if(
        all.begin(), all.end(), [](CommandToCheck const& command) { return command.words[0] == "asking"; });
    facts.missing_permissions = {&*asking};
    CHECK(about(facts, "permissions").severity == Severity::warning);
    CHECK(about(facts, "permissions").advice.find("that is being moved") != std::string::npos);
    facts.missing_permissions = {all.data()};
    CHECK(about(facts, "permissions").advice.find("+cluster|shards +asking") != std::string::npos);
}

TEST_CASE("INFO is read line by line, whatever it holds", "[redis][findings]")
{
    auto const info = read_info("# Server\r\nredis_version:7.0.15\r\nempty:\r\nno colon\r\n\r\nrole:master");
    CHECK(info.size() == 3);
    CHECK(info.at("redis_version") == "7.0.15");
    CHECK(info.at("empty").empty());
    CHECK(info.at("role") == "master");
    CHECK(read_info("").empty());
}
