// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Servers that withhold commands, as proxies and managed services do: what works without them, and what ends at once.
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace tenure::test
{

using Catch::Matchers::ContainsSubstring;
using Commands = std::vector<std::string>;

namespace
{

RedisServerOptions without(Commands const& commands)
{
    RedisServerOptions options;
    for (auto const& command : commands)
        options.config.push_back("rename-command " + command + " \"\"");
    return options;
}

} // namespace

TEST_CASE("leases need none of HELLO, MULTI, EXEC, EVALSHA and SUBSCRIBE", "[redis]")
{
    require_redis();
    auto const withheld = GENERATE(
        Commands{"HELLO"}, Commands{"MULTI"}, Commands{"EXEC"}, Commands{"HELLO", "MULTI", "EXEC"}, Commands{"EVALSHA"},
        Commands{"HELLO", "MULTI", "EXEC", "EVALSHA", "SUBSCRIBE"});
    CAPTURE(withheld);
    RedisServer server(without(withheld));
    RunningStore running{server.url()};
    std::uint64_t last_token = 0;
    for (int i = 0; i < 3; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        auto lease = RunningStore::acquire(running.lock("job", 5s), {.wait = 5s});
        CHECK(std::chrono::steady_clock::now() - begin < 3s);
        CHECK(lease.fencing_token() > last_token);
        last_token = lease.fencing_token();
        // a waiter gets the key after the release
        auto waiting = running.lock("job", 5s).async_acquire({.wait = 15s}, as_future);
        auto const until = lease.valid_until();
        CHECK(eventually([&] { return lease.valid_until() > until; }));
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        auto [error, next] = soon(std::move(waiting));
        CHECK_FALSE(error);
        CHECK(next.fencing_token() > last_token);
        last_token = next.fencing_token();
        CHECK(RunningStore::release(next) == ReleaseOutcome::released);
    }
    auto slot = RunningStore::acquire(running.pool(3, 5s));
    CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    CHECK(server.client().call("EXISTS", "job").integer == 0);
}

TEST_CASE("where scripts are withheld an acquisition ends at once, and no key stays held", "[redis]")
{
    require_redis();
    auto const withheld =
        GENERATE(Commands{"EVAL"}, Commands{"EVAL", "EVALSHA"}, Commands{"HELLO", "MULTI", "EXEC", "EVAL", "EVALSHA"});
    bool const fencing = GENERATE(true, false);
    CAPTURE(withheld, fencing);
    RedisServer server(without(withheld));
    RunningStore running{server.url()};
    auto const begin = std::chrono::steady_clock::now();
    auto const lock = running.lock("job", 30s, {.fencing = fencing});
    CHECK(RunningStore::acquire_error(lock, {.wait = 20s}) == errc::wrong_server);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("this server or proxy refuses scripts"));
    CHECK(server.client().call("EXISTS", "job").integer == 0);
}

TEST_CASE("where WAIT is withheld a claim ends with the option that needs it, and the key is free", "[redis]")
{
    require_redis();
    RedisServer server(without({"WAIT"}));
    RunningStore running{server.url() + "?replicas=1"};
    CHECK(RunningStore::acquire_error(running.lock("job", 30s), {.wait = 20s}) == errc::wrong_server);
    CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("refuses WAIT, which replicas=1 needs"));
    CHECK(eventually([&] { return server.client().call("EXISTS", "job").integer == 0; }));
}

TEST_CASE("doctor says which commands a server withholds", "[redis]")
{
    require_redis();
    RedisServer server(without({"MULTI"}));
    RunningStore running{server.url()};
    auto const [error, findings] = soon(running.store().async_examine(5s, as_future));
    CHECK_FALSE(error);
    auto const about = [&findings = findings](std::string const& subject) {
        for (auto const& finding : findings)
            if (finding.subject == subject)
                return finding;
        return Finding{};
    };
    CHECK(about("transactions").severity == Finding::Severity::warning);
    CHECK_THAT(about("transactions").observed, ContainsSubstring("unknown command 'MULTI'"));

    RedisServer none(without({"EVAL"}));
    RunningStore refused{none.url()};
    auto const [examined, reasons] = soon(refused.store().async_examine(5s, as_future));
    CHECK_FALSE(examined);
    REQUIRE(reasons.size() == 1);
    CHECK(reasons.front().severity == Finding::Severity::error);
    CHECK_THAT(reasons.front().observed, ContainsSubstring("refuses scripts"));
}

} // namespace tenure::test
