// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using Severity = Finding::Severity;

namespace
{

Finding const& about(Findings const& findings, std::string const& subject)
{
    auto const found = std::find_if(
        findings.begin(), findings.end(), [&](Finding const& finding) { return finding.subject == subject; });
    if (found == findings.end())
        throw std::runtime_error("nothing was found out about " + subject);
    return *found;
}

} // namespace

TEST_CASE("examining a server without persistence and limits finds just that", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server;
    LiveBackend live(server);
    auto const findings = live.examine(5s);
    CHECK(about(findings, "version").severity == Severity::ok);
    CHECK_THAT(about(findings, "version").observed, ContainsSubstring("."));
    CHECK(about(findings, "role").severity == Severity::ok);
    CHECK(about(findings, "clock").severity == Severity::ok);
    CHECK(about(findings, "persistence").severity == Severity::warning);
    CHECK_THAT(about(findings, "persistence").advice, ContainsSubstring("appendonly yes"));
    CHECK(about(findings, "eviction policy").severity == Severity::ok);
    CHECK(about(findings, "replicas").severity == Severity::ok);
    CHECK(about(findings, "permissions").severity == Severity::ok);
    CHECK_THAT(about(findings, "round trip").observed, ContainsSubstring("ttl 5000 ms"));
}

TEST_CASE(
    "examining sees an evicting policy, appendfsync, and a ttl that no round trip fits in", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server{
        {.config = {"appendonly yes", "appendfsync always", "maxmemory 100mb", "maxmemory-policy allkeys-lru"}}};
    LiveBackend live(server);
    auto const findings = live.examine(0ms);
    CHECK(about(findings, "persistence").severity == Severity::ok);
    CHECK_THAT(about(findings, "persistence").observed, ContainsSubstring("appendfsync always"));
    CHECK(about(findings, "eviction policy").severity == Severity::warning);
    CHECK_THAT(about(findings, "eviction policy").advice, ContainsSubstring("noeviction"));
    CHECK(about(findings, "round trip").severity == Severity::error);
}

TEST_CASE("examining a replica says that it refuses every claim", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server;
    server.client().call("REPLICAOF", "127.0.0.1", "1");
    LiveBackend live(server);
    CHECK(about(live.examine(5s), "role").severity == Severity::error);
}

TEST_CASE("what the user may not ask is unverified, and nothing else fails", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server{
        {.config = {"user worker on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set "
                    "+del +pexpire +pexpireat +pttl +incr +time ~P* ~{P*}:fence"}}};
    auto config = config_of(server);
    config.username = "worker";
    config.password = "secret";
    LiveBackend live(config);
    auto const findings = live.examine(5s);
    CHECK(about(findings, "version").severity == Severity::ok); // told by HELLO
    for (auto const* const subject : {"persistence", "eviction policy", "replicas", "permissions"}) {
        CAPTURE(subject);
        CHECK(about(findings, subject).severity == Severity::unverified);
        CHECK_FALSE(about(findings, subject).advice.empty());
    }
}

TEST_CASE("missing permissions are listed where the user may ask", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server{{.config = {"user worker on >secret resetchannels +@all -incr -publish ~P*"}}};
    auto config = config_of(server);
    config.username = "worker";
    config.password = "secret";
    LiveBackend live(config);
    if (std::stoi(server.client().info("redis_version")) < 7)
        SKIP("ACL DRYRUN is of Redis 7");
    auto const findings = live.examine(5s);
    CHECK(about(findings, "permissions").severity == Severity::error);
    CHECK(about(findings, "permissions").observed == "missing: +incr +publish");
}

TEST_CASE("examining a server that is not there says so", "[redis][backend][examine]")
{
    require_redis();
    RedisConfig config;
    config.port = free_port();
    LiveBackend live(config);
    Findings findings;
    live.on_strand(
        [&] { live.backend().examine(5s, live.now() + 300ms, [&](Findings found) { findings = std::move(found); }); });
    live.run_until([&] { return !findings.empty(); });
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::error);
    CHECK(findings[0].subject == "connection");
}
