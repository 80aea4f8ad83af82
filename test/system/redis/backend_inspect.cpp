// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

TEST_CASE_METHOD(LiveBackendTest, "an inspection reports the holder of each key and the duration", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 600);
    static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
    client.call("SET", "pool:1", "python", "PX", 4000);
    client.call("SET", "pool:2", "for ever");
    client.call("RPUSH", "pool:3", "x");
    client.call("SET", "pool:4", std::string(100'000, 'x'), "PX", 4000);
    client.call("HSET", "pool:6", "a1:1", 1);
    client.call("PEXPIRE", "pool:6", 4000);
    client.call("SET", "pool:599", "evicted/me", "PX", 4000);

    auto const keys = expect<std::vector<KeyState>>(live.inspect(range));
    REQUIRE(keys.size() == 600);
    for (std::uint32_t i = 0; i < 600; ++i)
        CHECK(keys[i].index == i);

    CHECK(keys[0].kind == KeyState::Kind::held);
    CHECK(keys[0].owner == owner(1));
    // the one counter of all keys says nothing about a single one
    CHECK(keys[0].fencing_token == 0);
    CHECK_FALSE(keys[0].held_for);
    REQUIRE(keys[0].remaining);
    CHECK(*keys[0].remaining <= 5s);
    CHECK(*keys[0].remaining > 2s);

    CHECK(keys[1].kind == KeyState::Kind::held);
    CHECK(keys[1].owner == "python");
    CHECK_FALSE(keys[1].held_for);
    CHECK(keys[2].kind == KeyState::Kind::foreign);
    CHECK_FALSE(keys[2].remaining);
    CHECK(keys[3].kind == KeyState::Kind::foreign);
    CHECK_FALSE(keys[3].remaining);
    CHECK(keys[4].owner.size() == KeyState::longest_owner);
    CHECK(keys[5].kind == KeyState::Kind::free);
    CHECK(keys[6].kind == KeyState::Kind::foreign);
    CHECK(keys[6].owner.empty());
    CHECK(keys[6].remaining > 2s);
    CHECK(keys[6].remaining <= 4s);
    CHECK(keys[599].owner == "evicted/me");
    CHECK_FALSE(keys[599].held_for);
}

TEST_CASE_METHOD(LiveBackendTest, "the duration of a holding comes from the owner's second", "[redis][backend]")
{
    auto const now = std::stoll(client.call("TIME").elements.at(0).text);
    auto const ahead = GENERATE(0, 100);
    auto const mine = "host:1/" + std::to_string(now - 60 + ahead) + "/0123456789abcdef0123456789abcdef";
    auto const range = named_key("job");
    static_cast<void>(expect<Granted>(live.claim(range, mine)));
    auto const keys = expect<std::vector<KeyState>>(live.inspect(range));
    REQUIRE(keys.at(0).held_for);
    if (ahead == 0) {
        CHECK(*keys[0].held_for >= 60s);
        CHECK(*keys[0].held_for < 70s);
    } else {
        CHECK(*keys[0].held_for == 0ms);
    }
}

TEST_CASE_METHOD(
    LiveBackendTest, "an evicted key names the evictor, keeps its ttl, and no message is published", "[redis][backend]")
{
    auto listener = server.client();
    auto const range = numbered_keys("pool:", 2);
    static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
    listener.call("PSUBSCRIBE", "*");

    auto const evicted = expect<Evicted>(live.evict(range, 0, owner(1)));
    CHECK(client.get("pool:0") == "evicted/operator");
    REQUIRE(evicted.remaining);
    CHECK(*evicted.remaining <= 5s);
    auto const left = client.pttl("pool:0");
    CHECK(left > 0);
    CHECK(left <= evicted.remaining->count());
    CHECK_FALSE(listener.receive(200ms));
}

TEST_CASE_METHOD(LiveBackendTest, "a key without ttl or of another type is not evicted", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 2);
    client.call("SET", "pool:0", "for ever");
    client.call("RPUSH", "pool:1", "x");
    auto const without_ttl = expect_refused(live.evict(range, 0, "for ever"));
    CHECK(without_ttl.error == errc::key_conflict);
    CHECK(client.get("pool:0") == "for ever");
    CHECK(client.pttl("pool:0") == -1);
    CHECK(expect_refused(live.evict(range, 1, "x")).error == errc::key_conflict);
}
