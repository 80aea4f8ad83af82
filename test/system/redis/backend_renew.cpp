// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

namespace
{

/// "calls=3,usec=..." of INFO commandstats
std::int64_t calls_of(RedisClient& client, std::string const& command)
{
    auto const text = client.call("INFO", "commandstats").text;
    auto const at = text.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::stoll(text.substr(text.find('=', at) + 1));
}

} // namespace

TEST_CASE_METHOD(
    LiveBackendTest, "renewals of one call share script calls, and each gets the answer of its own key",
    "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 250);
    std::vector<RenewRequest> requests;
    for (unsigned i = 0; i < 250; ++i) {
        client.call("SET", "pool:" + std::to_string(i), owner(i), "PX", 2000);
        requests.push_back({claim_of(range, owner(i), i), 9s, live.now() + 10s});
    }
    // connects, and makes the server know the script
    static_cast<void>(live.renew(claim_of(range, owner(0), 0), 9s));
    live.run_until([&] { return std::holds_alternative<Renewed>(live.renew(claim_of(range, owner(0), 0), 9s)); });

    client.call("SET", "pool:7", "thief", "PX", 2000);
    client.call("DEL", "pool:8", "pool:9");
    client.call("RPUSH", "pool:9", "x");
    auto const scripts_before = calls_of(client, "evalsha");
    auto const asked = live.now();
    auto const replies = live.renew_together(requests);
    CHECK(calls_of(client, "evalsha") - scripts_before == 3);
    for (unsigned i = 0; i < 250; ++i) {
        CAPTURE(i);
        if (i == 7 || i == 8 || i == 9) {
            static_cast<void>(expect<NotOwner>(replies[i]));
            continue;
        }
        auto const& renewed = expect<Renewed>(replies[i]);
        CHECK(renewed.ttl == 9s);
        CHECK(renewed.since >= asked);
        CHECK(client.pttl("pool:" + std::to_string(i)) > 5000);
    }
    CHECK(client.get("pool:7") == "thief");
    CHECK(client.pttl("pool:7") <= 2000);
    CHECK(client.call("EXISTS", "pool:8").integer == 0);
}

TEST_CASE_METHOD(LiveBackendTest, "renewals with different ttl are kept apart", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 4);
    std::vector<RenewRequest> requests;
    for (unsigned i = 0; i < 4; ++i) {
        REQUIRE(expect<Granted>(live.claim(range, owner(i))).index == i);
        requests.push_back({claim_of(range, owner(i), i), i % 2 == 0 ? 9s : 30s, live.now() + 10s});
    }
    auto const replies = live.renew_together(requests);
    for (unsigned i = 0; i < 4; ++i) {
        CHECK(expect<Renewed>(replies[i]).ttl == requests[i].ttl);
        auto const left = client.pttl("pool:" + std::to_string(i));
        CHECK(left <= requests[i].ttl.count());
        CHECK(left > requests[i].ttl.count() - 3000);
    }
}

TEST_CASE("a renewal that may not be made refuses only itself", "[redis][backend]")
{
    require_redis();
    RedisServer server{
        {.config = {"user worker on >secret resetchannels -@all +@all ~pool:* ~tenure:fence ~{pool:*}:waiting "
                    "~{pool:*}:watched"}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    auto const range = numbered_keys("pool:", 1);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    client.call("SET", "other", owner(2), "PX", 4000);

    auto const replies = live.renew_together(
        {{claim_of(named_key("other"), owner(2), 0), 9s, live.now() + 10s},
         {claim_of(range, owner(1), 0), 9s, live.now() + 10s}});
    auto const& refused = expect_refused(replies[0]);
    CHECK(refused.error == errc::permission_denied);
    CHECK_THAT(refused.detail, Catch::Matchers::ContainsSubstring("other"));
    static_cast<void>(expect<Renewed>(replies[1]));
    CHECK(client.pttl("other") <= 4000);
}

TEST_CASE_METHOD(RedisTest, "a renewal without a connection is not sent, and says so at once", "[redis][backend]")
{
    LiveBackend live(server);
    auto const range = numbered_keys("pool:", 1);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    bool reachable = false;
    live.on_strand([&] { live.backend().on_reachable([&reachable] { reachable = true; }); });
    server.kill();
    // The loss of the connection shows with the first request at the latest, and that is told soon too.
    auto before = live.now();
    static_cast<void>(live.renew(claim_of(range, owner(1), 0), 5s));
    CHECK(live.now() - before < 1s);
    before = live.now();
    auto const not_sent = expect_not_sent(live.renew(claim_of(range, owner(1), 0), 5s));
    CHECK(live.now() - before < 500ms);
    CHECK(not_sent.error == errc::store_unavailable);
    CHECK_FALSE(not_sent.fatal);

    server.start();
    live.run_until([&] { return reachable; });
    static_cast<void>(expect<NotOwner>(live.renew(claim_of(range, owner(1), 0), 5s)));
}
