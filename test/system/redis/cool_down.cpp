// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Cool-down: a slot whose lease expired without being released stays closed for one ttl more.
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

namespace
{

RedisConfig cooling(RedisServer const& server)
{
    auto config = config_of(server);
    config.cool_down = true;
    return config;
}

} // namespace

TEST_CASE("a lease that expires leaves its slot closed for one ttl more", "[redis][backend][cool-down]")
{
    require_redis();
    RedisServer server;
    auto client = server.client();
    LiveBackend live(cooling(server));
    auto const fencing = GENERATE(true, false);
    auto const range = GENERATE(numbered_keys("pool:", 1), named_key("job"));
    auto const ttl = 400ms;
    ClaimRequest const request{range, owner(1), ttl, live.now() + 10s, fencing, std::nullopt};
    auto const granted = expect<Granted>(live.claim(request));
    CHECK(granted.ttl == ttl);
    auto next = request;
    next.owner = owner(2);
    // the lease is over by now, and its holder has not been heard of
    live.run_for(ttl + 50ms);
    auto const busy = expect<Busy>(live.claim(next));
    REQUIRE(busy.earliest_expiry);
    CHECK(*busy.earliest_expiry <= ttl);
    CHECK(*busy.earliest_expiry > 100ms);
    // others who know nothing of it are kept out too
    CHECK(client.send({"SET", range->key(0), "python", "NX", "PX", "5000"}).is_null());
    live.run_for(*busy.earliest_expiry + 5ms);
    auto const second = expect<Granted>(live.claim(next));
    // servers count whole milliseconds
    CHECK(live.now() - granted.since >= 2 * ttl - 5ms);
    if (fencing)
        CHECK(second.fencing_token > granted.fencing_token);
}

TEST_CASE(
    "a slot that was released is free at once, and one that cools down is passed over", "[redis][backend][cool-down]")
{
    require_redis();
    RedisServer server;
    LiveBackend live(cooling(server));
    auto const range = numbered_keys("pool:", 3);
    auto const claim = [&](unsigned number, std::chrono::milliseconds ttl) {
        return expect<Granted>(live.claim({range, owner(number), ttl, live.now() + 10s, true, std::nullopt})).index;
    };
    REQUIRE(claim(1, 200ms) == 0);
    REQUIRE(claim(2, 5s) == 1);
    static_cast<void>(expect<Released>(live.release(claim_of(range, owner(2), 1))));
    live.run_for(250ms);
    CHECK(claim(3, 5s) == 1);
    CHECK(claim(4, 5s) == 2);
    static_cast<void>(expect<Released>(live.withdraw(range, owner(4))));
    CHECK(claim(5, 5s) == 2);
}

TEST_CASE("renewals keep the cool-down ahead of the lease", "[redis][backend][cool-down]")
{
    require_redis();
    RedisServer server;
    auto client = server.client();
    LiveBackend live(cooling(server));
    auto const range = named_key("job");
    static_cast<void>(expect<Granted>(live.claim({range, owner(1), 1s, live.now() + 10s, true, std::nullopt})));
    CHECK(expect<Renewed>(live.renew(claim_of(range, owner(1), 0), 3s)).ttl == 3s);
    CHECK(client.pttl("job") > 5000);
    CHECK(client.pttl("job") <= 6000);
}
