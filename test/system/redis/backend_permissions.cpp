// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/redis/minimal_permissions.hpp"
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

std::string const with_notifications = std::string(minimal_user) +
                                       " +subscribe +unsubscribe +publish &{P*}:free +lpos +rpush +lpush "
                                       "+lpop +lrem +lrange +llen ~{P*}:waiting ~{P*}:watched";

void use_everything(LiveBackend& live, bool notifications)
{
    for (auto const& range : {numbered_keys("P:", 3), named_key("P-lock")}) {
        for (bool const fencing : {true, false}) {
            auto const granted = expect<Granted>(live.claim(range, owner(1), fencing));
            auto const claim = claim_of(range, owner(1), granted.index);
            static_cast<void>(expect<Renewed>(live.renew(claim, 6s)));
            ClaimRequest const again{range, owner(1), 5s, live.now() + 10s, fencing, live.now() - 1s};
            CHECK(expect<Granted>(live.claim(again)).index == granted.index);
            for (std::uint32_t i = 1; i < range->count; ++i)
                static_cast<void>(expect<Granted>(live.claim(range, owner(1 + i), fencing)));
            static_cast<void>(expect<Busy>(live.claim(range, owner(9), fencing)));
            CHECK(expect<std::vector<KeyState>>(live.inspect(range)).size() == range->count);
            static_cast<void>(expect<NotOwner>(live.evict(range, 0, owner(9))));
            static_cast<void>(expect<Released>(live.release(claim, notifications)));
            for (std::uint32_t i = 1; i < range->count; ++i)
                static_cast<void>(expect<Released>(live.release(claim_of(range, owner(1 + i), i), notifications)));
        }
    }
    static_cast<void>(expect<Granted>(live.claim(named_key("P-evicted"), owner(1))));
    static_cast<void>(expect<Evicted>(live.evict(named_key("P-evicted"), 0, owner(1))));
}

} // namespace

TEST_CASE("the minimal permissions are enough for all that leases do, and nothing is refused", "[redis][backend][acl]")
{
    require_redis();
    RedisServer server{{.config = {minimal_user}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    use_everything(live, false);
    CHECK(client.call("ACL", "LOG").elements.empty());
}

TEST_CASE("the minimal permissions with notifications are enough for those too", "[redis][backend][acl]")
{
    require_redis();
    RedisServer server{{.config = {with_notifications}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    auto const range = numbered_keys("P:", 3);
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    live.on_strand([&] {
        watch =
            live.backend().watch(range, WatchAs::observer, [&events](WatchEvent event) { events.push_back(event); });
    });
    live.run_until([&] { return !events.empty(); });
    use_everything(live, true);
    // with a line to take names from, too
    client.call("RPUSH", "{P:}:waiting", "one", "two");
    live.on_strand([&] { live.backend().leave_line(range); });
    static_cast<void>(expect<Granted>(live.claim(range, owner(7))));
    static_cast<void>(expect<Released>(live.withdraw(range, owner(7))));
    live.run_until([&] { return std::count(events.begin(), events.end(), WatchEvent::hint) >= 7; });
    live.on_strand([&] { watch.reset(); });
    CHECK(events.front() == WatchEvent::in_force);
    CHECK(client.call("ACL", "LOG").elements.empty());
}

TEST_CASE("the minimal permissions and those of hashes are enough for places", "[redis][backend][acl][shares]")
{
    require_redis();
    bool const notifies = GENERATE(true, false);
    std::string const hashes = " +hget +hmget +hset +hdel +hgetall";
    RedisServer server{
        {.config = {(notifies ? with_notifications : minimal_user + std::string(" +publish")) + hashes}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    auto const range = shared_key("P-shared");
    auto const ask = [&](unsigned number) {
        ClaimRequest request{range, owner(number), 5s, live.now() + 10s, true, std::nullopt};
        request.share = Share{};
        request.waits = Waits::in_line;
        return live.claim(std::move(request));
    };
    auto const first = claim_of(range, owner(1), expect<Granted>(ask(1)).index);
    CHECK(expect<Busy>(ask(2)).place);
    CHECK(expect<Busy>(ask(3)).place);
    static_cast<void>(expect<Renewed>(live.renew(first, 6s)));
    static_cast<void>(expect<Evicted>(live.evict(range, 0, owner(3))));
    CHECK(expect<std::vector<KeyState>>(live.inspect(range)).front().places.size() == 2);
    static_cast<void>(expect<Released>(live.release(first)));
    static_cast<void>(expect<Granted>(ask(2)));
    static_cast<void>(expect<Released>(live.withdraw(range, owner(2))));
    CHECK(client.keys("P-shared").empty());
    if (notifies)
        CHECK(client.call("ACL", "LOG").elements.empty());
}

TEST_CASE("a user without the commands of hashes is told which to grant", "[redis][backend][acl][shares]")
{
    require_redis();
    RedisServer server{{.config = {with_notifications}}};
    LiveBackend live(worker_of(server));
    ClaimRequest request{shared_key("P-shared"), owner(1), 5s, live.now() + 10s, true, std::nullopt};
    request.share = Share{};
    auto const refused = expect_refused(live.claim(std::move(request)));
    CHECK(refused.error == errc::permission_denied);
    CHECK(refused.fatal);
    CHECK_THAT(refused.detail, ContainsSubstring("+hset"));
    CHECK(server.client().keys("P-shared").empty());
}

TEST_CASE("a missing permission is named, with what to grant", "[redis][backend][acl]")
{
    require_redis();
    auto const [without, range, fencing, advice] = GENERATE(table<std::string, KeyRangePtr, bool, std::string>({
        {"-evalsha", numbered_keys("P:", 3), true, "grant +evalsha"},
        {"-set", named_key("P-lock"), false, "grant +set"},
        {"-set", numbered_keys("P:", 3), true, "+set"},
        {"-incr", numbered_keys("P:", 3), true, "+incr"},
        {"-set", named_key("P-lock"), true, "grant +set"},
        {"-multi", named_key("P-lock"), true, "grant +multi +exec"},
        {"-exec", named_key("P-lock"), true, "grant +multi +exec"},
        {"-evalsha", named_key("P-lock"), true, "grant +evalsha"},
        {"resetkeys ~P*", named_key("P-lock"), true, "~tenure:fence"},
        {"resetkeys ~P*", numbered_keys("P:", 3), true, "~tenure:fence"},
        {"", numbered_keys("Q:", 3), true, "~PREFIX* ~tenure:fence ~{PREFIX*}:waiting ~{PREFIX*}:watched"},
        {"", named_key("Q"), false, "~PREFIX*"},
    }));
    CAPTURE(without, advice);
    RedisServer server{{.config = {std::string(minimal_user) + " " + without}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    auto const reply = live.claim(range, owner(1), fencing);
    if (auto const* const unconfirmed = std::get_if<Unconfirmed>(&reply)) {
        // without MULTI each command runs by itself: the SET took the key, which is to be given back
        CHECK(without == "-multi");
        CHECK(unconfirmed->error == errc::permission_denied);
        CHECK(unconfirmed->fatal);
        CHECK_THAT(unconfirmed->detail, ContainsSubstring(advice));
        return;
    }
    auto const refused = expect_refused(reply);
    CHECK(refused.error == errc::permission_denied);
    CHECK(refused.fatal);
    CHECK_THAT(refused.detail, ContainsSubstring(advice));
    CHECK_THAT(refused.detail, ContainsSubstring(range->describe()));
    CHECK(client.keys(range->prefix + "*").empty());
}

TEST_CASE("without the line's permissions claims go on, and it is said once", "[redis][backend][acl]")
{
    require_redis();
    auto const* const without = GENERATE("-lpos -lrange", "-rpush", "resetkeys ~P* ~tenure:fence");
    RedisServer server{{.config = {std::string(minimal_user) + " " + without}}};
    LiveBackend live(worker_of(server));
    auto const range = named_key("P-lock");
    static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
    ClaimRequest request{range, owner(2), 5s, live.now() + 10s, true, std::nullopt};
    request.waits = Waits::in_line;
    for (int i = 0; i < 3; ++i)
        CHECK(expect<Busy>(live.claim(request)).earliest_expiry <= 5s);
    CHECK(live.logged("may not use the line of waiters {P-lock}:waiting") == 1);
    auto const refusals = server.client().call("ACL", "LOG").elements;
    CHECK_FALSE(refusals.empty());
    CHECK(refusals.size() <= 2);
}

TEST_CASE(
    "a release that may not look at the key is refused, and the key is not taken for lost", "[redis][backend][acl]")
{
    require_redis();
    RedisServer server{{.config = {minimal_user}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    auto const range = named_key("P-lock");
    static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
    client.call("ACL", "SETUSER", "worker", "-get");
    auto const refused = expect_refused(live.release(claim_of(range, owner(1), 0)));
    CHECK(refused.error == errc::permission_denied);
    CHECK_THAT(refused.detail, ContainsSubstring("+get"));
    CHECK_THAT(refused.detail, ContainsSubstring("P-lock"));
    CHECK(client.get("P-lock") == owner(1));
    client.call("ACL", "SETUSER", "worker", "+get");
    static_cast<void>(expect<Released>(live.release(claim_of(range, owner(1), 0))));
}

TEST_CASE("a wrong password is fatal, and no request runs as another user", "[redis][backend][acl]")
{
    require_redis();
    RedisServer server{{.config = {with_notifications}}};
    auto client = server.client();
    auto config = worker_of(server);
    config.password = "wrong-password";
    LiveBackend live(config);
    auto const not_sent = expect_not_sent(live.claim(numbered_keys("P:", 3), owner(1)));
    CHECK(not_sent.error == errc::authentication_failed);
    CHECK(not_sent.fatal);
    CHECK(not_sent.detail.find("wrong-password") == std::string::npos);
    CHECK(live.logged("wrong-password") == 0);
    CHECK(client.keys("*").empty());
}
