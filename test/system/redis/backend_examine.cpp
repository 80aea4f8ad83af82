// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
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

TEST_CASE_METHOD(
    RedisTest, "examining a server without persistence and limits finds just that", "[redis][backend][examine]")
{
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

TEST_CASE_METHOD(RedisTest, "examining a replica says that it refuses every claim", "[redis][backend][examine]")
{
    server.client().call("REPLICAOF", "127.0.0.1", "1");
    LiveBackend live(server);
    CHECK(about(live.examine(5s), "role").severity == Severity::error);
}

TEST_CASE("checks without permission are unverified, and nothing else fails", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server{
        {.config = {"user worker on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set "
                    "+del +pexpire +pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen ~P* "
                    "~tenure:fence ~{P*}:waiting ~{P*}:watched"}}};
    LiveBackend live(worker_of(server));
    auto const findings = live.examine(5s);
    CHECK(about(findings, "version").severity == Severity::ok); // from the reply to HELLO
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
    LiveBackend live(worker_of(server));
    if (std::stoi(server.client().info("redis_version")) < 7)
        SKIP("ACL DRYRUN is of Redis 7");
    auto const findings = live.examine(5s);
    CHECK(about(findings, "permissions").severity == Severity::error);
    CHECK(about(findings, "permissions").observed == "missing: +incr +publish");
}

TEST_CASE("permissions are those of the user that a callback logs in as", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server{{.config = {"user worker on >secret resetchannels +@all -incr -publish ~P*"}}};
    auto config = config_of(server);
    config.credentials = [] { return Credentials{"worker", "secret"}; };
    LiveBackend live(config);
    if (std::stoi(server.client().info("redis_version")) < 7)
        SKIP("ACL DRYRUN is of Redis 7");
    CHECK(about(live.examine(5s), "permissions").observed == "missing: +incr +publish");
}

TEST_CASE("permissions are not verified where the user may not ask who it is", "[redis][backend][examine]")
{
    require_redis();
    RedisServer server{{.config = {"user worker on >secret resetchannels +@all -acl|whoami -incr ~P*"}}};
    LiveBackend live(worker_of(server));
    CHECK(about(live.examine(5s), "permissions").severity == Severity::unverified);
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

TEST_CASE("examining a master compares its clock with those of its replicas", "[redis][backend][examine]")
{
    require_redis();
    ScratchDirectory const directory;
    // a clock that is ahead by this, in the file that the server's shim reads
    auto const with_clock = [&](std::string const& name, std::chrono::nanoseconds offset) {
        std::int64_t const ns = offset.count();
        std::string bytes(sizeof ns, '\0');
        std::copy_n(reinterpret_cast<char const*>(&ns), sizeof ns, bytes.begin()); // NOLINT: a file of one number
        std::ofstream(directory.file(name), std::ios::binary) << bytes;
        return RedisServerOptions{
            .environment = {{"LD_PRELOAD", wall_clock_shim()}, {"TENURE_WALL_CLOCK_OFFSET", directory.file(name)}}};
    };
    RedisServer master{{.config = {"repl-diskless-sync-delay 0", "user worker on >secret ~* &* +@all"}}};
    auto const follow = [&](RedisServerOptions options, std::vector<std::string> more = {}) {
        options.config = std::move(more);
        options.config.emplace_back("user worker on >secret ~* &* +@all");
        options.config.push_back("replicaof 127.0.0.1 " + std::to_string(master.port()));
        return options;
    };
    RedisServer const same{follow({})};
    RedisServer const ahead{follow(with_clock("ahead", 2s))};
    RedisServer const behind{follow(with_clock("behind", -2s))};
    auto const nowhere = free_port();
    RedisServer const hidden{follow({}, {"replica-announce-port " + std::to_string(nowhere)})};
    auto client = master.client();
    REQUIRE(eventually([&] { return client.info("connected_slaves") == "4"; }, 30s));

    LiveBackend live(worker_of(master));
    auto const clock_of = [](Findings const& findings, std::uint16_t port) {
        auto const where = "127.0.0.1:" + std::to_string(port) + ": ";
        for (auto const& finding : findings)
            if (finding.subject == "clock of a replica" && finding.observed.starts_with(where))
                return finding;
        throw std::runtime_error("nothing was found out about the clock of " + where);
    };
    // with a margin that no busy machine's round trip comes near
    auto const findings = live.examine(60s);
    CHECK(clock_of(findings, same.port()).severity == Severity::ok);
    CHECK(clock_of(findings, ahead.port()).severity == Severity::warning);
    CHECK_THAT(clock_of(findings, ahead.port()).observed, ContainsSubstring("ahead of the master's"));
    CHECK(clock_of(findings, behind.port()).severity == Severity::warning);
    CHECK_THAT(clock_of(findings, behind.port()).observed, ContainsSubstring("behind the master's"));
    CHECK(clock_of(findings, nowhere).severity == Severity::unverified);
    CHECK_THAT(clock_of(findings, nowhere).observed, ContainsSubstring("Connection refused"));
    // longer than a lease lasts
    CHECK(clock_of(live.examine(1s), ahead.port()).severity == Severity::error);
}
