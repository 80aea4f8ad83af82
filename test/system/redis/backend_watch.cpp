// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

namespace
{

struct Watcher {
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;

    [[nodiscard]] auto count(WatchEvent event) const { return std::count(events.begin(), events.end(), event); }
};

void begin(LiveBackend& live, Watcher& watcher, KeyRangePtr const& range, WatchAs as = WatchAs::waiter)
{
    live.on_strand([&] {
        watcher.watch =
            live.backend().watch(range, as, [&watcher](WatchEvent event) { watcher.events.push_back(event); });
        CHECK(watcher.events.empty());
    });
}

} // namespace

TEST_CASE_METHOD(
    LiveBackendTest, "an observer's watch is in force and then hints at each release in its range", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 2);
    Watcher first;
    Watcher other;
    begin(live, first, range, WatchAs::observer);
    begin(live, other, named_key("job"), WatchAs::observer);
    live.run_until([&] { return first.count(WatchEvent::in_force) == 1 && other.count(WatchEvent::in_force) == 1; });

    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    static_cast<void>(expect<Released>(live.release(claim_of(range, owner(1), 0))));
    live.run_until([&] { return first.count(WatchEvent::hint) == 1; });
    CHECK(other.count(WatchEvent::hint) == 0);

    // a second one joins what is there
    Watcher second;
    begin(live, second, range);
    live.run_until([&] { return second.count(WatchEvent::in_force) == 1; });
    CHECK(client.call("PUBSUB", "NUMSUB", "{pool:}:free").elements.at(1).integer == 1);
    CHECK(client.call("PUBLISH", "{pool:}:free", "1").integer == 1);
    live.run_until([&] { return first.count(WatchEvent::hint) == 2 && second.count(WatchEvent::hint) == 1; });

    live.on_strand([&] { first.watch.reset(); });
    client.call("PUBLISH", "{pool:}:free", "1");
    live.run_until([&] { return second.count(WatchEvent::hint) == 2; });
    CHECK(first.count(WatchEvent::hint) == 2);
    live.on_strand([&] {
        second.watch.reset();
        other.watch.reset();
    });
}

TEST_CASE_METHOD(LiveBackendTest, "the subscribing connection carries nothing else", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 2);
    Watcher watcher;
    begin(live, watcher, range);
    live.run_until([&] { return watcher.count(WatchEvent::in_force) == 1; });
    for (unsigned i = 0; i < 2; ++i)
        static_cast<void>(expect<Granted>(live.claim(range, owner(i))));
    auto const list = client.call("CLIENT", "LIST").text;
    auto const subscribed = list.find("sub=1");
    REQUIRE(subscribed != std::string::npos);
    auto const line = list.substr(list.rfind('\n', subscribed) + 1, list.find('\n', subscribed));
    CHECK(line.find("cmd=subscribe") != std::string::npos);
    live.on_strand([&] { watcher.watch.reset(); });
}

TEST_CASE_METHOD(LiveBackendTest, "a broken subscription is announced and set up again", "[redis][backend]")
{
    auto const range = named_key("job");
    Watcher watcher;
    begin(live, watcher, range);
    live.run_until([&] { return watcher.count(WatchEvent::in_force) == 1; });
    client.call("CLIENT", "KILL", "TYPE", "pubsub");
    live.run_until([&] { return watcher.count(WatchEvent::in_force) == 2; });
    CHECK(watcher.events == std::vector{WatchEvent::in_force, WatchEvent::interrupted, WatchEvent::in_force});
    client.call("PUBLISH", "{job}:free", "1");
    live.run_until([&] { return watcher.count(WatchEvent::hint) == 1; });
    live.on_strand([&] { watcher.watch.reset(); });
}

TEST_CASE("watching without permission is unavailable, logged once, and spoils nothing", "[redis][backend]")
{
    require_redis();
    RedisServer server{{.config = {"user worker on >secret resetchannels +@all -subscribe ~*"}}};
    LiveBackend live(worker_of(server));
    Watcher first;
    Watcher second;
    begin(live, first, named_key("a"));
    live.run_until([&] { return first.count(WatchEvent::unavailable) == 1; });
    begin(live, second, named_key("b"));
    live.run_until([&] { return second.count(WatchEvent::unavailable) == 1; });
    CHECK(live.logged("may not subscribe to {a}:free") == 1);
    CHECK(live.logged("may not subscribe") == 1);
    CHECK(expect<Granted>(live.claim(named_key("a"), owner(1), false)).index == 0);
    live.on_strand([&] {
        first.watch.reset();
        second.watch.reset();
    });
}
