// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The requests of a cluster store to each node, and its use of the answers; the nodes are the test.
#include "fake_cluster.hpp"
#include "harness/expect_failure.hpp"
#include "harness/renewals.hpp"

#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

TEST_CASE("the first request asks for the map, and then the node that serves its slot", "[cluster]")
{
    FakeCluster cluster;
    auto const reply = cluster.claim(named_key("foo")); // slot 12182
    CHECK(cluster.waiting_at(7001) == Words{"CLUSTER", "SHARDS"});
    CHECK_FALSE(cluster.nodes.contains(7003));
    cluster.notify_map();
    CHECK(cluster.waiting_at(7003).at(0) == "MULTI");
    cluster.node(7003).answer(FakeCluster::granted());
    REQUIRE(*reply);
    CHECK(std::get<Granted>(**reply).since == cluster.node(7003).sent.front().since);
    CHECK(cluster.questions() == 1);
    CHECK_FALSE(cluster.nodes.contains(7002));
}

TEST_CASE("CLUSTER SLOTS is asked where CLUSTER SHARDS is refused", "[cluster]")
{
    FakeCluster cluster;
    auto const reply = cluster.claim(named_key("foo"));
    cluster.node(7001).answer(Value::error("ERR Unknown subcommand or wrong number of arguments for 'SHARDS'"));
    CHECK(cluster.waiting_at(7001) == Words{"CLUSTER", "SLOTS"});
    auto const node = Value::list(Type::array, {Value::text("fake"), Value::integer(7002)});
    cluster.notify_map(
        Value::list(Type::array, {Value::list(Type::array, {Value::integer(0), Value::integer(16383), node})}));
    CHECK(cluster.waiting_at(7002).at(0) == "MULTI");
    cluster.node(7002).answer(FakeCluster::granted());
    CHECK(*reply);
}

TEST_CASE("a server that is no cluster is the wrong one, and the error says which URL to use", "[cluster]")
{
    FakeCluster cluster;
    auto const reply = cluster.claim(named_key("foo"));
    cluster.node(7001).answer(Value::error("ERR This instance has cluster support disabled"));
    cluster.runtime->run_ready();
    REQUIRE(*reply);
    auto const& not_sent = expect_not_sent(**reply);
    CHECK(not_sent.error == errc::wrong_server);
    CHECK(not_sent.fatal);
    CHECK(not_sent.detail.find("use redis://") != std::string::npos);
    CHECK(not_sent.detail.find("fake:7001") != std::string::npos);
}

TEST_CASE("MOVED is followed, changes the map, and brings one refresh", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const reply = cluster.claim(named_key("foo"));
    cluster.node(7003).answer(Value::error(FakeCluster::moved("foo", 7004)));
    cluster.runtime->run_ready();
    CHECK(cluster.waiting_at(7004).at(0) == "MULTI");
    cluster.node(7004).answer(FakeCluster::granted());
    CHECK(std::holds_alternative<Granted>(**reply));
    // the next request goes there at once
    auto const again = cluster.claim(named_key("foo"));
    CHECK(cluster.waiting_at(7004).at(0) == "MULTI");
    cluster.node(7004).answer(FakeCluster::granted());
    CHECK(std::holds_alternative<Granted>(**again));
    cluster.runtime->run_for(290ms);
    CHECK(cluster.questions() == 2);
    cluster.notify_map();
    cluster.runtime->run_for(3s);
    CHECK(cluster.questions() == 2);
}

TEST_CASE(
    "nodes that send a request back and forth are asked a few times only, and the map a few times a second",
    "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    constexpr int requests = 200;
    std::vector<std::shared_ptr<std::optional<ClaimReply>>> replies;
    for (int i = 0; i < requests; ++i)
        replies.push_back(cluster.claim(named_key("foo")));
    for (int step = 0; step < 100; ++step) {
        for (std::uint16_t port = 7001; port <= 7003; ++port) {
            while (cluster.unanswered(port) > 0)
                if (cluster.waiting_at(port).at(0) == "CLUSTER")
                    cluster.node(port).answer(FakeCluster::map_of_thirds());
                else
                    cluster.node(port).answer(Value::error(
                        FakeCluster::moved("foo", port == 7003 ? std::uint16_t{7002} : std::uint16_t{7003})));
        }
        cluster.runtime->run_for(20ms);
    }
    std::size_t sent = 0;
    for (std::uint16_t port = 7001; port <= 7003; ++port)
        if (cluster.nodes.contains(port))
            for (auto const& request : cluster.node(port).sent)
                sent += request.words.at(0) == "MULTI" ? 1U : 0U;
    // each once, and five redirects; and one for `connect`
    CHECK(sent <= 1 + requests * 6);
    CHECK(cluster.questions() <= 1 + 2 * 4);
    for (auto const& reply : replies) {
        REQUIRE(*reply);
        auto const& refused = expect_refused(**reply);
        CHECK(refused.error == errc::store_refused);
        CHECK_FALSE(refused.fatal);
        CHECK(refused.detail.find("hash slot 12182") != std::string::npos);
        CHECK(refused.detail.find(" at fake:700") != std::string::npos);
    }
}

TEST_CASE("a renewal follows ASK with ASKING right in front of it", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const reply = cluster.renew({FakeCluster::claim_on("foo"), 3s, cluster.runtime->now() + 1s});
    cluster.node(7003).answer(Value::error("ASK 12182 fake:7002"));
    cluster.runtime->run_ready();
    auto& target = cluster.node(7002);
    REQUIRE(target.sent.size() == 2);
    CHECK(target.sent[0].words == Words{"ASKING"});
    CHECK(target.sent[0].with_next);
    CHECK(target.sent[1].words.at(0) == "EVALSHA");
    CHECK_FALSE(target.sent[1].with_next);
    target.answer(Value::status("OK"));
    target.answer(Value::text("1"));
    REQUIRE(*reply);
    CHECK(std::get<Renewed>(**reply).since == target.sent[1].since);
    // the slot is where it was
    cluster.renew({FakeCluster::claim_on("foo"), 3s, cluster.runtime->now() + 1s});
    CHECK(cluster.unanswered(7003) == 1);
}

TEST_CASE("a refused ASKING names the missing permission", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const reply = cluster.renew({FakeCluster::claim_on("foo"), 3s, cluster.runtime->now() + 1s});
    cluster.node(7003).answer(Value::error("ASK 12182 fake:7002"));
    cluster.runtime->run_ready();
    cluster.node(7002).answer(Value::error("NOPERM User x has no permissions to run the 'asking' command"));
    cluster.node(7002).answer(Value::error(FakeCluster::moved("foo", 7003)));
    REQUIRE(*reply);
    auto const& refused = expect_refused(**reply);
    CHECK(refused.error == errc::permission_denied);
    CHECK(refused.detail.find("+asking") != std::string::npos);
    CHECK(refused.detail.find("fake:7002") != std::string::npos);
}

TEST_CASE("renewals of one slot share a call, and one call for each key where the slot is being moved", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("{foo}:0");
    std::vector<RenewRequest> requests;
    for (int i = 0; i < 3; ++i)
        requests.push_back({FakeCluster::claim_on("{foo}:" + std::to_string(i)), 3s, cluster.runtime->now() + 1s});
    auto const replies = renew_together(*cluster.backend, std::move(requests));
    cluster.runtime->run_ready();
    REQUIRE(cluster.unanswered(7003) == 1);
    CHECK(cluster.waiting_at(7003).at(2) == "3");
    cluster.node(7003).answer(Value::error("TRYAGAIN Multiple keys request during rehashing of slot"));
    cluster.runtime->run_ready();
    REQUIRE(cluster.unanswered(7003) == 3);
    cluster.node(7003).answer(Value::text("1"));
    cluster.node(7003).answer(Value::error("ASK 12182 fake:7001"));
    cluster.node(7003).answer(Value::text("0"));
    cluster.runtime->run_ready();
    cluster.node(7001).answer(Value::status("OK"));
    cluster.node(7001).answer(Value::text("1"));
    CHECK(std::holds_alternative<Renewed>(**replies[0]));
    CHECK(std::holds_alternative<Renewed>(**replies[1]));
    CHECK(std::holds_alternative<NotOwner>(**replies[2]));
}

TEST_CASE("a claim waits while its slot is being moved, and creates nothing at the other node", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const reply = cluster.claim(named_key("foo"));
    for (int i = 0; i < 4; ++i) {
        REQUIRE(cluster.unanswered(7003) == 1);
        cluster.node(7003).answer(Value::error("ASK 12182 fake:7002"));
        CHECK(cluster.unanswered(7003) == 0);
        cluster.runtime->run_for(300ms);
    }
    CHECK_FALSE(cluster.nodes.contains(7002));
    cluster.node(7003).answer(Value::error(FakeCluster::moved("foo", 7002)));
    cluster.runtime->run_ready();
    cluster.node(7002).answer(FakeCluster::granted());
    CHECK(std::holds_alternative<Granted>(**reply));
}

TEST_CASE("a node that cannot be reached delays no request to another", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo"); // 7003
    cluster.connect("bar"); // 5061: 7001
    cluster.node(7003).become(redis::ConnectionState::backing_off);
    auto const limit = cluster.runtime->now() + 1s;
    // in one call
    auto const replies = renew_together(
        *cluster.backend, {{FakeCluster::claim_on("foo"), 3s, limit}, {FakeCluster::claim_on("bar"), 3s, limit}});
    cluster.runtime->run_ready();
    auto const& stuck = replies[0];
    auto const& other = replies[1];
    REQUIRE(*stuck);
    CHECK(expect_not_sent(**stuck).error == errc::store_unavailable);
    CHECK(expect_not_sent(**stuck).detail.find("fake:7003") != std::string::npos);
    while (cluster.waiting_at(7001).at(0) == "CLUSTER")
        cluster.node(7001).answer(FakeCluster::map_of_thirds());
    cluster.node(7001).answer(Value::text("1"));
    CHECK(std::holds_alternative<Renewed>(**other));
}

TEST_CASE("a pool without hash tag is looked at on all nodes at once, and its first free key is claimed", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const range = numbered_keys("p:", 4);
    auto const reply = cluster.claim(range);
    std::map<std::uint16_t, int> keys;
    for (std::uint32_t i = 0; i < 4; ++i)
        ++keys[FakeCluster::port_of(range->key(i))];
    REQUIRE(keys.size() > 1);
    for (auto const& [port, count] : keys)
        CHECK(cluster.unanswered(port) == static_cast<std::size_t>(count));
    // key 0 is held, all others are free
    for (auto const& [port, count] : keys)
        for (int i = 0; i < count; ++i) {
            auto const words = cluster.waiting_at(port);
            REQUIRE(words.at(0) == "EXISTS");
            cluster.node(port).answer(Value::integer(words.at(1) == "p:0" ? 1 : 0));
        }
    auto const first = FakeCluster::port_of("p:1");
    CHECK(cluster.waiting_at(first).at(2) == "p:1");
    // another claim was faster
    cluster.node(first).answer(FakeCluster::held());
    cluster.node(first).answer(FakeCluster::surveyed());
    auto const second = FakeCluster::port_of("p:2");
    CHECK(cluster.waiting_at(second).at(2) == "p:2");
    cluster.node(second).answer(FakeCluster::granted());
    REQUIRE(*reply);
    CHECK(std::get<Granted>(**reply).index == 2);
}

TEST_CASE("a claim that may be delayed brings the marker of its slot and the run id of its node", "[cluster]")
{
    FakeCluster cluster("7.0.15", true);
    auto const reply = cluster.claim(named_key("foo"));
    cluster.notify_map();
    auto const words = cluster.waiting_at(7003);
    auto const& marker = words.at(4);
    CHECK(marker.starts_with("tenure:master:{"));
    CHECK(redis::hash_slot(marker) == redis::hash_slot("foo"));
    CHECK(words.back() == FakeCluster::run_id_of(7003));
    // another node has another run id, and the command is the same
    cluster.node(7003).answer(Value::error(FakeCluster::moved("foo", 7002)));
    cluster.runtime->run_ready();
    CHECK(cluster.waiting_at(7002).at(4) == marker);
    CHECK(cluster.waiting_at(7002).back() == FakeCluster::run_id_of(7002));
}

TEST_CASE(
    "a spread pool whose slots are all closed is busy until the first opens, and asks no more till then", "[cluster]")
{
    FakeCluster cluster("7.0.15", true);
    auto const answer_all = [&](std::int64_t closed_ms) {
        int claims = 0;
        for (int turn = 0; turn < 20; ++turn)
            for (std::uint16_t port = 7001; port <= 7003; ++port)
                while (cluster.unanswered(port) > 0) {
                    auto const command = cluster.waiting_at(port).at(0);
                    if (command == "CLUSTER")
                        cluster.node(port).answer(FakeCluster::map_of_thirds());
                    else if (command == "EXISTS")
                        cluster.node(port).answer(Value::integer(0));
                    else
                        cluster.node(port).answer(
                            Value::list(Type::array, {Value::integer(-2), Value::integer(closed_ms + 100 * ++claims)}));
                    cluster.runtime->run_ready();
                }
        return claims;
    };
    auto const pool = numbered_keys("pool:", 4);
    auto const reply = cluster.claim(pool);
    CHECK(answer_all(1000) == 4);
    REQUIRE(*reply);
    CHECK(std::get<Busy>(**reply).earliest_expiry == 1100ms);
    auto const again = cluster.claim(pool);
    CHECK(answer_all(1000) == 0);
    REQUIRE(*again);
    CHECK(std::get<Busy>(**again).earliest_expiry == 1100ms);
    // then the one that opens is asked for, and no other
    cluster.runtime->run_for(1150ms);
    auto const third = cluster.claim(pool);
    CHECK(answer_all(50) == 1);
}

TEST_CASE("an owner that may hold a key already takes none while a node cannot tell", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const range = numbered_keys("p:", 4);
    auto const reply = cluster.claim(range, cluster.runtime->now());
    auto const silent = FakeCluster::port_of("p:3");
    for (std::uint16_t port = 7001; port <= 7003; ++port)
        while (port != silent && cluster.unanswered(port) > 0)
            cluster.node(port).answer(Value::integer(0));
    CHECK_FALSE(*reply);
    cluster.runtime->run_for(3s);
    REQUIRE(*reply);
    CHECK(failed_as(**reply, Failure::Effect::not_sent));
    for (std::uint16_t port = 7001; port <= 7003; ++port)
        if (cluster.nodes.contains(port))
            for (auto const& request : cluster.node(port).sent)
                CHECK(
                    (request.words.at(0) != "EVALSHA" || request.words.at(1) == redis::scripts::probe().sha ||
                     request.words.at(3) == "foo"));
}

TEST_CASE("an owner that holds a key of a spread pool already is given that one", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const range = numbered_keys("p:", 4);
    auto const reply = cluster.claim(range, cluster.runtime->now());
    for (std::uint16_t port = 7001; port <= 7003; ++port)
        while (cluster.unanswered(port) > 0 && cluster.waiting_at(port).at(1) == redis::scripts::probe().sha) {
            CHECK(cluster.waiting_at(port).back() == "me/1");
            cluster.node(port).answer(Value::integer(cluster.waiting_at(port).at(3) == "p:3" ? 2 : 0));
        }
    auto const port = FakeCluster::port_of("p:3");
    REQUIRE(cluster.unanswered(port) == 1);
    CHECK(cluster.waiting_at(port).at(1) == redis::scripts::own_or_first_free().sha);
    CHECK(cluster.waiting_at(port).at(4) == "p:3");
    cluster.node(port).answer(FakeCluster::granted_by_script());
    CHECK(std::get<Granted>(**reply).index == 3);
}

TEST_CASE("no value of a spread pool's keys is asked for: somebody else's may be of any size", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const range = numbered_keys("p:", 4);
    std::map<std::string, int> asked;
    auto const answer_all = [&](Value const& value) {
        std::map<std::uint16_t, std::size_t> open;
        for (std::uint16_t port = 7001; port <= 7003; ++port)
            open[port] = cluster.unanswered(port);
        for (auto [port, count] : open)
            for (; count > 0; --count) {
                auto const words = cluster.waiting_at(port);
                ++asked[words.at(0) == "EVALSHA" ? words.at(1) : words.at(0)];
                cluster.node(port).answer(Value(value));
            }
        cluster.runtime->run_ready();
    };
    SECTION("by a claim, and where all are held")
    {
        auto const reply = cluster.claim(range);
        answer_all(Value::integer(1));
        CHECK(asked == std::map<std::string, int>{{"EXISTS", 4}});
        answer_all(Value::list(Type::array, {Value::integer(-1), Value::integer(900), Value::integer(1)}));
        CHECK(asked == std::map<std::string, int>{{"EXISTS", 4}, {redis::scripts::survey().sha, 4}});
        REQUIRE(*reply);
        auto const& busy = std::get<Busy>(**reply);
        CHECK(busy.earliest_expiry == 900ms);
        CHECK(busy.never_frees);
    }
    SECTION("by a withdrawal")
    {
        auto const reply =
            cluster.ask(&Backend::withdraw, WithdrawRequest{range, "me/1", cluster.runtime->now() + 1s, true});
        answer_all(Value::integer(1));
        CHECK(asked == std::map<std::string, int>{{redis::scripts::probe().sha, 4}});
        REQUIRE(*reply);
        CHECK(std::holds_alternative<Released>(**reply));
    }
}

TEST_CASE("a survey of a large spread pool goes page by page, and ends in time", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    constexpr std::size_t size = 5000;
    constexpr std::size_t page = 4096;
    auto const range = numbered_keys("p:", size);
    auto const surveyed = Value::list(Type::array, {Value::integer(-1), Value::integer(900), Value::integer(0)});
    auto const open = [&] { return cluster.unanswered(7001) + cluster.unanswered(7002) + cluster.unanswered(7003); };
    auto const answer_what_is_open = [&](Value const& value) {
        for (std::uint16_t port = 7001; port <= 7003; ++port)
            for (auto count = cluster.unanswered(port); count > 0; --count)
                cluster.node(port).answer(Value(value));
        cluster.runtime->run_ready();
    };
    auto const look_everywhere = [&] {
        auto reply = cluster.claim(range);
        for (std::size_t seen = 0; seen < size;) {
            REQUIRE(open() > 0);
            seen += open();
            answer_what_is_open(Value::integer(1));
        }
        return reply;
    };
    // the first busy answer comes without a survey
    REQUIRE(*look_everywhere());
    auto const reply = look_everywhere();
    REQUIRE_FALSE(*reply);
    CHECK(open() == page);
    SECTION("all of it where the nodes are fast enough")
    {
        answer_what_is_open(surveyed);
        CHECK(open() == size - page);
        answer_what_is_open(surveyed);
    }
    SECTION("no page is begun after the deadline")
    {
        cluster.node(7001).answer(Value(surveyed));
        cluster.runtime->run_for(500ms);
        CHECK(open() == page - 1);
    }
    REQUIRE(*reply);
    CHECK(std::get<Busy>(**reply).earliest_expiry == 900ms);
}

TEST_CASE("before Redis 7 releases are published to all", "[cluster]")
{
    FakeCluster cluster{"6.2.14"};
    cluster.connect("foo");
    cluster.ask(&Backend::release, ReleaseRequest{FakeCluster::claim_on("foo"), cluster.runtime->now() + 1s, true});
    CHECK(cluster.waiting_at(7003).at(1) == redis::scripts::release().everywhere.sha);
}

TEST_CASE("a channel is subscribed where its slot is, and taken along when that goes elsewhere", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    std::vector<WatchEvent> events;
    auto const watch =
        cluster.backend->watch(named_key("foo"), WatchAs::waiter, [&](WatchEvent event) { events.push_back(event); });
    cluster.runtime->run_ready();
    auto& home = cluster.hints(7003);
    CHECK(home.sent.back().words == Words{"SSUBSCRIBE", "{foo}:free"});
    home.answer(Value::list(Type::push, {Value::text("ssubscribe"), Value::text("{foo}:free"), Value::integer(1)}));
    CHECK(events == std::vector{WatchEvent::in_force});
    home.push(Value::list(Type::push, {Value::text("smessage"), Value::text("{foo}:free"), Value::text("1")}));
    CHECK(events.back() == WatchEvent::hint);

    home.push(Value::list(Type::push, {Value::text("sunsubscribe"), Value::text("{foo}:free"), Value::integer(0)}));
    CHECK(events.back() == WatchEvent::interrupted);
    cluster.runtime->run_for(200ms);
    // asked where it was, as long as nothing else is known
    CHECK(home.sent.back().words == Words{"SSUBSCRIBE", "{foo}:free"});
    home.answer(Value::error(FakeCluster::moved("foo", 7002)));
    cluster.runtime->run_ready();
    // and at the other node at once, where it stays
    auto& next = cluster.hints(7002);
    next.answer(Value::list(Type::push, {Value::text("ssubscribe"), Value::text("{foo}:free"), Value::integer(1)}));
    CHECK(events.back() == WatchEvent::in_force);
    CHECK(events.size() == 4);
}

TEST_CASE("a channel whose slot two nodes send back and forth is subscribed in the end", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    cluster.connect("qux"); // at 7002
    std::vector<WatchEvent> events;
    auto const watch =
        cluster.backend->watch(named_key("foo"), WatchAs::waiter, [&](WatchEvent event) { events.push_back(event); });
    cluster.runtime->run_for(300ms);
    auto const confirmation =
        Value::list(Type::push, {Value::text("ssubscribe"), Value::text("{foo}:free"), Value::integer(1)});
    cluster.hints(7003).answer(Value(confirmation));

    auto const first = cluster.claim(named_key("foo"));
    cluster.node(7003).answer(Value::error(FakeCluster::moved("foo", 7002)));
    cluster.runtime->run_ready();
    cluster.hints(7002).answer(Value(confirmation));
    REQUIRE(cluster.waiting_at(7002).at(0) == "MULTI");
    cluster.node(7002).answer(Value::error(FakeCluster::moved("foo", 7003)));
    cluster.runtime->run_ready();
    CHECK(
        events ==
        std::vector{WatchEvent::in_force, WatchEvent::interrupted, WatchEvent::in_force, WatchEvent::interrupted});
    // the map, too, says what the second of them says
    cluster.notify_map();
    auto const second = cluster.claim(named_key("foo"));
    cluster.runtime->run_for(10ms);
    REQUIRE(cluster.waiting_at(7003).at(0) == "MULTI");
    cluster.node(7003).answer(Value::error(FakeCluster::moved("foo", 7002)));
    cluster.runtime->run_for(200ms);
    CHECK(events.size() == 5);
    CHECK(events.back() == WatchEvent::in_force);
}

TEST_CASE("a node that serves nothing any more is let go, and what it owed ends as lost", "[cluster]")
{
    FakeCluster cluster;
    cluster.connect("foo");
    auto const owed = cluster.claim(named_key("foo"));
    auto const moved = cluster.claim(named_key("{foo}x"));
    (void)moved;
    REQUIRE(cluster.unanswered(7003) == 2);
    // a failover: another node has all its slots
    auto const redirected = cluster.claim(named_key("bar"));
    cluster.node(7001).answer(Value::error("MOVED 5061 fake:7002"));
    cluster.runtime->run_ready();
    for (int i = 0; i < 30; ++i) {
        cluster.runtime->run_for(100ms);
        cluster.notify_map(
            Value::list(Type::array, {FakeCluster::shard(0, 5460, 7001), FakeCluster::shard(5461, 16383, 7002)}));
    }
    CHECK(cluster.node(7003).gave_up);
    REQUIRE(*owed);
    CHECK(failed_as(**owed, Failure::Effect::unknown));
}

} // namespace tenure::test
