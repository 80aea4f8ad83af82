// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

TEST_CASE_METHOD(LiveBackendTest, "a release leaves a key of another type alone", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 2);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    client.call("DEL", "pool:0");
    client.call("RPUSH", "pool:0", "x");
    static_cast<void>(expect<NotOwner>(live.release(claim_of(range, owner(1), 0))));
    CHECK(client.call("LLEN", "pool:0").integer == 1);
}

TEST_CASE_METHOD(
    LiveBackendTest, "releases of one turn share calls, and a call announces each channel once", "[redis][backend]")
{
    auto listener = server.client();
    auto const pool = numbered_keys("pool:", 20);
    auto const tagged = named_key("{jobs}:nightly");
    std::vector<ReleaseRequest> requests;
    for (unsigned i = 0; i < 20; ++i) {
        REQUIRE(expect<Granted>(live.claim(pool, owner(i))).index == i);
        requests.push_back({claim_of(pool, owner(i), i), live.now() + 10s, true});
    }
    static_cast<void>(expect<Granted>(live.claim(tagged, owner(1), false)));
    requests.push_back({claim_of(tagged, owner(1), 0), live.now() + 10s, true});
    // not theirs, and silent ones
    requests.push_back({claim_of(named_key("lost"), owner(1), 0), live.now() + 10s, true});
    static_cast<void>(expect<Granted>(live.claim(named_key("silent"), owner(1), false)));
    requests.push_back({claim_of(named_key("silent"), owner(1), 0), live.now() + 10s, false});

    for (auto const* const watched :
         {"{pool:}:watched", "{jobs}:nightly:watched", "{lost}:watched", "{silent}:watched"})
        client.call("SET", watched, "1");
    listener.call("PSUBSCRIBE", "*");
    client.call("CONFIG", "RESETSTAT");
    auto const replies = live.ask_together(&Backend::release, requests);
    for (std::size_t i = 0; i < replies.size(); ++i) {
        CAPTURE(i);
        if (i == 21)
            static_cast<void>(expect<NotOwner>(replies[i]));
        else
            static_cast<void>(expect<Released>(replies[i]));
    }
    std::vector<std::string> channels;
    while (auto const message = listener.receive(300ms))
        channels.push_back(message->elements.at(2).text);
    // the first leaves at once, the others together
    CHECK(channels == std::vector<std::string>{"{pool:}:free", "{pool:}:free", "{jobs}:nightly:free"});
    CHECK(client.keys("pool:*").empty());
    CHECK(client.keys("silent").empty());
    auto const stats = client.call("INFO", "commandstats").text;
    CHECK(stats.find("cmdstat_publish:calls=3,") != std::string::npos);
    CHECK(stats.find("cmdstat_del:calls=2,") != std::string::npos);
}

TEST_CASE_METHOD(
    LiveBackendTest, "a withdrawal frees all keys of its owner, on every page, and announces it", "[redis][backend]")
{
    auto listener = server.client();
    auto const range = numbered_keys("pool:", 5000);
    client.call("SET", "pool:3", owner(1), "PX", 9000);
    client.call("SET", "pool:4", owner(2), "PX", 9000);
    client.call("SET", "pool:4999", owner(1), "PX", 9000);
    client.call("SET", "{pool:}:watched", "1");
    listener.call("SUBSCRIBE", "{pool:}:free");
    static_cast<void>(expect<Released>(live.withdraw(range, owner(1))));
    CHECK(client.keys("pool:*") == std::vector<std::string>{"pool:4"});
    CHECK(listener.receive(2s).has_value());

    static_cast<void>(expect<Released>(live.withdraw(range, owner(1))));
    CHECK(client.get("pool:4") == owner(2));
}

TEST_CASE("a release without permission to publish frees the key, says so once and tries no more", "[redis][backend]")
{
    require_redis();
    RedisServer server{
        {.config = {"user worker on >secret resetchannels +@all ~*", "acl-pubsub-default resetchannels"}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    client.call("SET", "{pool:}:watched", "1");
    auto const range = numbered_keys("pool:", 1);
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(expect<Granted>(live.claim(range, owner(i))).index == 0);
        static_cast<void>(expect<Released>(live.release(claim_of(range, owner(i), 0))));
        REQUIRE(expect<Granted>(live.claim(range, owner(i))).index == 0);
        static_cast<void>(expect<Released>(live.withdraw(range, owner(i))));
        CHECK_FALSE(client.get("pool:0"));
    }
    CHECK(live.logged("may not announce releases on {pool:}:free") == 1);
    auto const refusals = client.call("ACL", "LOG");
    REQUIRE(refusals.elements.size() == 1);
    CHECK(refusals.elements[0].elements.at(1).integer == 1);
}
