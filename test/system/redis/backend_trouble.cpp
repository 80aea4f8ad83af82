// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE_METHOD(
    LiveBackendTest, "a server in trouble refuses for now, in its own words, and grants when it is over",
    "[redis][backend]")
{
    auto const [setting, trouble, well, words] = GENERATE(table<std::string, std::string, std::string, std::string>({
        {"maxmemory", "1", "0", "OOM"},
        {"min-replicas-to-write", "1", "0", "NOREPLICAS"},
    }));
    auto const range = GENERATE(numbered_keys("pool:", 3), named_key("job"));
    client.call("CONFIG", "SET", setting, trouble);
    auto const refused = expect_refused(live.claim(range, owner(1), range->numbered));
    CHECK(refused.error == errc::store_refused);
    CHECK_FALSE(refused.fatal);
    CHECK_THAT(refused.detail, ContainsSubstring(words));
    client.call("CONFIG", "SET", setting, well);
    CHECK(expect<Granted>(live.claim(range, owner(1), range->numbered)).index == 0);
}

TEST_CASE_METHOD(
    LiveBackendTest, "a server that has become a replica is looked up and connected anew", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 3);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    auto const connections = [&] { return std::stoll(client.info("total_connections_received")); };
    client.call("REPLICAOF", "127.0.0.1", "1");
    auto const before = connections();
    auto const refused = expect_refused(live.claim(range, owner(2)));
    CHECK(refused.error == errc::store_refused);
    CHECK_FALSE(refused.fatal);
    CHECK_THAT(refused.detail, ContainsSubstring("READONLY"));
    live.run_until([&] { return connections() == before + 1; });
    // no storm
    for (int i = 0; i < 5; ++i)
        static_cast<void>(expect_refused(live.claim(range, owner(2))));
    CHECK(connections() <= before + 2);
    client.call("REPLICAOF", "NO", "ONE");
    CHECK(expect<Granted>(live.claim(range, owner(2))).index == 1);
}

TEST_CASE_METHOD(
    RedisTest, "a request that cannot be written in time is not sent and leaves nothing", "[redis][backend]")
{
    LiveBackend live(server);
    auto const range = numbered_keys("pool:", 3);
    server.kill();
    ClaimRequest request{range, owner(1), 5s, live.now() + 300ms, true, std::nullopt};
    auto const not_sent = expect_not_sent(live.claim(request));
    CHECK(request.not_after.over(live.now()));
    CHECK_FALSE(not_sent.fatal);
    server.start();
    live.run_for(500ms);
    CHECK(server.client().keys("*").empty());
}

TEST_CASE_METHOD(RedisTest, "a request that was written to a server that dies is unknown", "[redis][backend]")
{
    LiveBackend live(server);
    auto const range = numbered_keys("pool:", 3);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    server.pause();
    std::optional<ClaimReply> reply;
    live.on_strand([&] {
        live.backend().claim({range, owner(2), 5s, live.now() + 10s, true, std::nullopt}, [&reply](ClaimReply answer) {
            reply = std::move(answer);
        });
    });
    live.run_for(100ms);
    CHECK_FALSE(reply);
    server.kill();
    live.run_until([&] { return reply.has_value(); });
    CHECK(expect_unknown(*reply).error);
}

TEST_CASE_METHOD(RedisTest, "after shutdown everything is answered as closed, and no work is left", "[redis][backend]")
{
    LiveBackend live(server);
    auto const range = numbered_keys("pool:", 3);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    live.on_strand([&] { live.backend().shutdown(); });
    CHECK(expect_not_sent(live.claim(range, owner(2))).error == errc::closed);
    static_cast<void>(expect_not_sent(live.renew(claim_of(range, owner(1), 0), 5s)));
    static_cast<void>(expect_not_sent(live.release(claim_of(range, owner(1), 0))));
    static_cast<void>(expect_not_sent(live.withdraw(range, owner(1))));
    CHECK(live.idle());
}
