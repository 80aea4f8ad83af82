// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Delay after a failover: a server process that has not granted before grants nothing until leases that it may not know
// of have ended. Here it is a restarted one; replica_failovers.cpp has sentinels.
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <cstdint>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto marker = "tenure:master";

RedisServerOptions persistent()
{
    return {.config = {"appendonly yes", "appendfsync always"}};
}

RedisConfig delaying(RedisServer const& server)
{
    auto config = config_of(server);
    config.delay_after_failover = true;
    return config;
}

ClaimRequest asking(LiveBackend const& live, KeyRangePtr range, std::string owner, std::chrono::milliseconds ttl)
{
    return {std::move(range), std::move(owner), ttl, live.now() + 10s, true, std::nullopt};
}

/** Asks until the claim is granted, at the times that the hints name; the time that this took since the first answer.
 */
std::chrono::milliseconds granted_after(LiveBackend& live, KeyRangePtr const& range, std::chrono::milliseconds ttl)
{
    auto const begin = live.now();
    for (;;) {
        auto const reply = live.claim(asking(live, range, owner(77), ttl));
        if (std::holds_alternative<Granted>(reply))
            return std::chrono::duration_cast<std::chrono::milliseconds>(live.now() - begin);
        auto const& busy = expect<Busy>(reply);
        REQUIRE(busy.earliest_expiry);
        live.run_for(*busy.earliest_expiry);
    }
}

/** The server is another process, and this knows. */
void restart(RedisServer& server, LiveBackend& live)
{
    auto const logins = live.logged("connected to");
    server.restart();
    live.run_until([&] { return live.logged("connected to") > logins; });
}

/** Claims are open at this server: its marker is there, and its closure over. */
void settle(LiveBackend& live)
{
    auto const range = named_key("settle");
    granted_after(live, range, 100ms);
    // given back, or expired where the server's disk was slow
    static_cast<void>(live.release(claim_of(range, owner(77), 0)));
}

/** Fixture: a backend that delays claims after a failover. */
struct DelayingTest : RedisTest {
    RedisClient client = server.client();
    LiveBackend live{delaying(server)};
};

} // namespace

TEST_CASE_METHOD(
    DelayingTest, "the first use of a server waits for one ttl, and no later one does", "[redis][backend][delay]")
{
    auto const range = numbered_keys("pool:", 3);
    auto const busy = expect<Busy>(live.claim(asking(live, range, owner(1), 600ms)));
    REQUIRE(busy.earliest_expiry);
    CHECK(*busy.earliest_expiry == 600ms);
    CHECK(client.keys("pool:*").empty());
    CHECK(live.logged("no claims for another 600 ms") == 1);

    auto const waited = granted_after(live, range, 600ms);
    CHECK(waited >= 500ms);
    CHECK(waited < 3s);
    CHECK(expect<Granted>(live.claim(asking(live, range, owner(2), 600ms))).index == 1);
    CHECK(expect<Granted>(live.claim(asking(live, named_key("other"), owner(3), 400ms))).fencing_token > 0);
    LiveBackend another(delaying(server));
    CHECK(expect<Granted>(another.claim(asking(another, range, owner(4), 300ms))).index == 2);
    auto const run_id = client.info("run_id");
    CHECK_THAT(client.get(marker).value(), ContainsSubstring(run_id + " 600 "));
}

TEST_CASE(
    "after a restart claims are closed for the longest ttl in use, while renewals and releases go on",
    "[redis][backend][delay]")
{
    require_redis();
    RedisServer server(persistent());
    LiveBackend live(delaying(server));
    settle(live);
    auto const long_held = named_key("long");
    // longer than a restart takes on a busy machine
    auto const longest = 5s;
    auto const held = expect<Granted>(live.claim(asking(live, long_held, owner(1), longest)));
    auto const short_held = claim_of(named_key("short"), owner(2), 0);
    static_cast<void>(expect<Granted>(live.claim(asking(live, short_held->range, owner(2), 4s))));

    restart(server, live);
    auto const begin = live.now();
    // whichever key is asked for, and however short the ttl
    auto const busy = expect<Busy>(live.claim(asking(live, named_key("new"), owner(3), 200ms)));
    REQUIRE(busy.earliest_expiry);
    CHECK(*busy.earliest_expiry == longest);
    // a longer ttl from now on does not prolong the closure
    CHECK(expect<Renewed>(live.renew(claim_of(long_held, owner(1), 0), 2 * longest)).ttl == 2 * longest);
    static_cast<void>(expect<Released>(live.release(short_held)));
    static_cast<void>(expect<Busy>(live.claim(asking(live, short_held->range, owner(4), 200ms))));
    // an owner whose answer was lost finds its claim
    auto again = asking(live, long_held, owner(1), 2 * longest);
    again.earliest_attempt = live.now() - 1s;
    auto const found = expect<Granted>(live.claim(again)).fencing_token;
    CHECK(found > held.fencing_token);

    granted_after(live, named_key("new"), 200ms);
    // servers count whole milliseconds
    CHECK(live.now() - begin >= longest - 5ms);
    CHECK(live.now() - begin < longest + 2s);
    static_cast<void>(expect<Released>(live.release(claim_of(long_held, owner(1), 0))));
    CHECK(expect<Granted>(live.claim(asking(live, long_held, owner(5), 200ms))).fencing_token > found);
}

TEST_CASE("a renewal with a longer ttl is waited for after a restart too", "[redis][backend][delay]")
{
    require_redis();
    RedisServer server(persistent());
    LiveBackend live(delaying(server));
    settle(live);
    auto const range = named_key("job");
    static_cast<void>(expect<Granted>(live.claim(asking(live, range, owner(1), 300ms))));
    static_cast<void>(expect<Renewed>(live.renew(claim_of(range, owner(1), 0), 5s)));
    static_cast<void>(expect<Renewed>(live.renew(claim_of(range, owner(1), 0), 300ms)));
    CHECK_THAT(server.client().get(marker).value(), ContainsSubstring(" 5000 "));
    restart(server, live);
    auto const busy = expect<Busy>(live.claim(asking(live, named_key("new"), owner(2), 300ms)));
    CHECK(busy.earliest_expiry.value() == 5s);
}

TEST_CASE_METHOD(
    RedisTest, "if the marker is lost with the leases, each claim waits for its own ttl", "[redis][backend][delay]")
{
    LiveBackend live(delaying(server));
    settle(live);
    static_cast<void>(expect<Granted>(live.claim(asking(live, named_key("job"), owner(1), 900ms))));
    restart(server, live);
    CHECK(expect<Busy>(live.claim(asking(live, named_key("job"), owner(2), 400ms))).earliest_expiry.value() == 400ms);
    auto const longer = expect<Busy>(live.claim(asking(live, named_key("job"), owner(3), 900ms)));
    CHECK(longer.earliest_expiry.value() > 700ms);
    CHECK(longer.earliest_expiry.value() <= 900ms);
    // a renewal that comes first makes the marker too, and closes nothing by itself
    server.client().call("DEL", marker);
    static_cast<void>(expect<NotOwner>(live.renew(claim_of(named_key("job"), owner(1), 0), 700ms)));
    CHECK(server.client().get(marker).value() == "- 700 0");
    CHECK(expect<Busy>(live.claim(asking(live, named_key("job"), owner(2), 400ms))).earliest_expiry.value() == 700ms);
}

TEST_CASE_METHOD(
    DelayingTest, "claims open after the longest ttl also where the server's clock was set back",
    "[redis][backend][delay]")
{
    settle(live);
    auto const in_an_hour = std::chrono::system_clock::now().time_since_epoch() + 1h;
    auto const opens = std::chrono::duration_cast<std::chrono::milliseconds>(in_an_hour).count();
    client.call("SET", marker, client.info("run_id") + " 500 " + std::to_string(opens));
    auto const busy = expect<Busy>(live.claim(asking(live, named_key("job"), owner(1), 300ms)));
    CHECK(busy.earliest_expiry.value() == 500ms);
    CHECK(granted_after(live, named_key("job"), 300ms) < 3s);
}

TEST_CASE_METHOD(
    DelayingTest, "a marker that is something else refuses claims and renewals, and is left alone",
    "[redis][backend][delay]")
{
    settle(live);
    static_cast<void>(expect<Granted>(live.claim(asking(live, named_key("held"), owner(1), 5s))));
    client.call("SET", marker, "somebody's/0123");
    auto const claimed = expect_refused(live.claim(asking(live, named_key("job"), owner(1), 300ms)));
    CHECK_THAT(claimed.detail, ContainsSubstring("tenure:master holds something else than the marker"));
    auto const renewed = expect_refused(live.renew(claim_of(named_key("held"), owner(1), 0), 5s));
    CHECK_THAT(renewed.detail, ContainsSubstring("tenure:master holds something else than the marker"));
    CHECK_FALSE(client.get("job"));
    CHECK(client.get(marker) == "somebody's/0123");
    static_cast<void>(expect<Released>(live.release(claim_of(named_key("held"), owner(1), 0))));
}

TEST_CASE_METHOD(RedisTest, "a large pool is closed and opens like a lock", "[redis][backend][delay]")
{
    LiveBackend live(delaying(server));
    auto const range = numbered_keys("pool:", 5000);
    CHECK(expect<Busy>(live.claim(asking(live, range, owner(1), 400ms))).earliest_expiry.value() == 400ms);
    granted_after(live, range, 400ms);
    CHECK(expect<Granted>(live.claim(asking(live, range, owner(2), 400ms))).index == 1);
    // an owner whose answer was lost, over all pages
    auto again = asking(live, range, owner(2), 400ms);
    again.earliest_attempt = live.now() - 1s;
    CHECK(expect<Granted>(live.claim(again)).index == 1);
}

TEST_CASE("the delay needs two permissions more, and a missing one is named", "[redis][backend][delay][acl]")
{
    require_redis();
    // docs/integrators/redis-protocol.md promises that this is enough
    std::string const minimal =
        "user worker on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
        "+pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen +info ~P* ~tenure:fence "
        "~{P*}:waiting ~{P*}:watched ~tenure:master";
    auto const [without, advice] = GENERATE(table<std::string, std::string>(
        {{"", ""},
         {"-info", "grant +info, or switch delay_after_failover off"},
         {"resetkeys ~P* ~tenure:fence ~{P*}:waiting ~{P*}:watched", "keys"}}));
    CAPTURE(without);
    RedisServer server{{.config = {minimal + " " + without}}};
    auto config = delaying(server);
    config.username = "worker";
    config.password = "secret";
    LiveBackend live(config);
    auto const range = numbered_keys("P:", 3);
    if (without.empty()) {
        granted_after(live, range, 200ms);
        static_cast<void>(expect<Renewed>(live.renew(claim_of(range, owner(77), 0), 300ms)));
        static_cast<void>(expect<Released>(live.release(claim_of(range, owner(77), 0), false)));
        auto const log = server.client().call("ACL", "LOG");
        for (auto const& entry : log.elements)
            for (auto const& part : entry.elements)
                UNSCOPED_INFO(part.text);
        CHECK(log.elements.empty());
        return;
    }
    auto const reply = live.claim(asking(live, range, owner(1), 200ms));
    auto const detail = without == "-info" ? expect_not_sent(reply).detail : expect_refused(reply).detail;
    CHECK_THAT(detail, ContainsSubstring(advice));
    CHECK(server.client().keys("P:*").empty());
}

TEST_CASE_METHOD(RedisTest, "without the delay a server receives no additional commands", "[redis][backend][delay]")
{
    auto client = server.client();
    bool const delays = GENERATE(false, true);
    auto config = config_of(server);
    config.delay_after_failover = delays;
    LiveBackend live(config);
    auto const calls = [&](std::string const& command) {
        auto const line = client.info("cmdstat_" + command);
        return line.empty() ? 0 : std::stoi(line.substr(line.find('=') + 1));
    };
    settle(live);
    // with the login; the question here is counted once it is answered
    CHECK(calls("info") == (delays ? 1 : 0));
    client.call("CONFIG", "RESETSTAT");
    auto const range = numbered_keys("pool:", 3);
    for (unsigned i = 0; i < 3; ++i)
        static_cast<void>(expect<Granted>(live.claim(range, owner(i))));
    for (unsigned i = 0; i < 3; ++i)
        static_cast<void>(expect<Renewed>(live.renew(claim_of(range, owner(i), i), 5s)));
    // of the scripts, whatever the delay is
    CHECK(calls("mget") == 3);
    CHECK(calls("pexpire") == 3);
    // one for each token, and one for each claim that may be delayed
    CHECK(calls("time") == (delays ? 6 : 3));
    // the marker, for each claim and renewal
    CHECK(calls("get") == (delays ? 6 : 0));
    CHECK(client.get(marker).has_value() == delays);
}
