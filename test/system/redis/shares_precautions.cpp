// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places under the precautions of a config: grants wait for replicas, and after a failover nothing new is granted. Here
// the failover is a restart; test/system/sentinel has sentinels.
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/live_backend.hpp"
#include "system/support/running_store.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

RedisServerOptions replica_of(RedisServer const& master)
{
    return {.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())}};
}

constexpr backend::Share alone{};

/** A backend that delays claims after a failover, and two owners in line for one key. */
struct DelayedPlaces {
    explicit DelayedPlaces(RedisServer& running)
        : server(running)
        , live([&] {
            auto config = config_of(running);
            config.delay_after_failover = true;
            return config;
        }())
    {
        // opens claims at this server, which is new to it
        while (std::holds_alternative<Busy>(ask(owner(9))))
            live.run_for(50ms);
        static_cast<void>(expect<Released>(live.withdraw(range, owner(9))));
        held = expect<Granted>(ask(owner(1)));
        waiting = expect<Busy>(ask(owner(2))).place.value();
    }

    ClaimReply ask(std::string const& name, std::chrono::milliseconds ttl = longest)
    {
        ClaimRequest request{range, name, ttl, live.now() + 10s, true, live.now()};
        request.share = alone;
        request.waits = Waits::in_line;
        return live.claim(std::move(request));
    }
    void restart()
    {
        auto const logins = live.logged("connected to");
        server.restart();
        live.run_until([&] { return live.logged("connected to") > logins; });
        restarted = live.now();
    }
    [[nodiscard]] std::vector<Place> places()
    {
        return expect<std::vector<KeyState>>(live.inspect(range)).front().places;
    }

    /// longer than a restart takes on a busy machine
    static constexpr auto longest = 5s;
    RedisServer& server;
    LiveBackend live;
    KeyRangePtr range = shared_key("job");
    Granted held{};
    InLine waiting{};
    Instant restarted{};
};

} // namespace

TEST_CASE("where replicas acknowledge claims, the message to a waiter is no grant", "[redis][replicas][shares]")
{
    require_redis();
    RedisServer master{{.config = {"repl-diskless-sync-delay 0"}}};
    RedisServer replica{replica_of(master)};
    master.client().call("SET", "mark", "1", "PX", 60'000);
    REQUIRE(eventually([&] { return master.client().call("WAIT", 1, 100).integer == 1; }, 30s));

    auto const url = master.url() + "?replicas=1&replicas_within=200ms";
    RunningStore holder{url};
    RunningStore waiter{url};
    auto const config = LockConfig{.key = "job", .ttl = 20s, .fair = true};
    auto lease = RunningStore::acquire(Lock{holder.store(), config});
    auto waiting = Lock{waiter.store(), config}.async_acquire({.wait = 30s}, as_future);
    auto client = master.client();
    REQUIRE(eventually([&] { return client.call("HLEN", "job").integer == 5; }));
    REQUIRE(eventually([&] { return client.call("PUBSUB", "NUMSUB", "{job}:free").elements.at(1).integer == 1; }));

    replica.pause();
    static_cast<void>(RunningStore::release(lease));
    // its place holds by now, and it has asked again, without an answer that counts
    REQUIRE(eventually([&] { return waiter.store().statistics().given_back > 0; }, 10s));
    CHECK(waiting.wait_for(0s) == std::future_status::timeout);
    replica.resume();
    auto [error, granted] = within(30s, std::move(waiting));
    CHECK_FALSE(error);
    CHECK(replica.client()
              .call("HGET", "job", granted.owner())
              .text.starts_with(std::to_string(granted.fencing_token()) + " "));
}

TEST_CASE("while claims are closed after a failover places are kept, and none begins to hold", "[redis][delay][shares]")
{
    require_redis();
    RedisServer server{{.config = {"appendonly yes", "appendfsync always"}}};
    DelayedPlaces test(server);
    test.restart();

    // a place that was there is renewed, and told when claims open
    auto const again = expect<Busy>(test.ask(owner(2)));
    REQUIRE(again.place);
    CHECK(again.place->number == test.waiting.number);
    REQUIRE(again.earliest_expiry);
    CHECK(*again.earliest_expiry > test.longest - 2s);
    auto const places = test.places();
    REQUIRE(places.size() == 2);
    CHECK(places.back().remaining > test.longest - 500ms);
    // also the holder's own claim, whose answer was lost, is not granted
    CHECK(expect<Busy>(test.ask(owner(1))).place->number == test.held.fencing_token);
    // no new place
    auto const newcomer = expect<Busy>(test.ask(owner(3)));
    CHECK_FALSE(newcomer.place);
    CHECK(test.places().size() == 2);
    // renewals go on
    CHECK(expect<Renewed>(test.live.renew(claim_of(test.range, owner(1), 0), 4s)).ttl == 4s);
}

TEST_CASE("a release while claims are closed promotes and tells no waiter", "[redis][delay][shares]")
{
    require_redis();
    RedisServer server{{.config = {"appendonly yes", "appendfsync always"}}};
    DelayedPlaces test(server);
    test.restart();
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    test.live.on_strand([&] {
        watch =
            test.live.backend().watch(test.range, WatchAs::waiter, [&](WatchEvent event) { events.push_back(event); });
    });
    test.live.run_until([&] { return !events.empty(); });

    static_cast<void>(expect<Released>(test.live.release(claim_of(test.range, owner(1), 0))));
    // a marker behind whatever the release published
    server.client().call("PUBLISH", "{job}:free", "end");
    test.live.run_until([&] { return events.size() > 1; });
    CHECK(events == std::vector{WatchEvent::in_force, WatchEvent::hint});
    auto const places = test.places();
    REQUIRE(places.size() == 1);
    // the last number is its position, 0 if it holds
    CHECK(server.client().call("HGET", "job", owner(2)).text.ends_with(" 1"));

    // once claims are open its claim makes it hold, with the number that it had
    ClaimReply reply = test.ask(owner(2));
    while (std::holds_alternative<Busy>(reply)) {
        test.live.run_for(std::max(*std::get<Busy>(reply).earliest_expiry / 2, 20ms));
        reply = test.ask(owner(2));
    }
    CHECK(expect<Granted>(reply).fencing_token == test.waiting.number);
    // servers count whole milliseconds
    CHECK(test.live.now() - test.restarted >= test.longest - 500ms);
    test.live.on_strand([&] { watch.reset(); });
}
