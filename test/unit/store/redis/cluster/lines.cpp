// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lines of waiters in a cluster: of keys in their own slot, and of pools whose line is in another one.
#include "fake_cluster.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::test
{

namespace
{

namespace scripts = redis::scripts;

/** The pool `p:` of two keys, without hash tag, whose line and keys are at three different nodes. */
struct SpreadPool {
    FakeCluster cluster;
    KeyRangePtr range = numbered_keys("p:", 2);
    std::uint16_t home = FakeCluster::port_of("{p:}");

    explicit SpreadPool(std::string const& version = "7.0.15")
        : cluster(version)
    {
        // each node is connected, so that what it is is known
        for (auto const* const key : {"bar", "qux", "foo"})
            cluster.connect(key);
    }

    [[nodiscard]] ClaimPtr held(std::uint32_t index) const
    {
        auto claim = std::make_shared<Claim>();
        claim->range = range;
        claim->index = index;
        claim->owner = "me/1";
        return claim;
    }
    [[nodiscard]] std::uint16_t port_of(std::uint32_t index) const { return FakeCluster::port_of(range->key(index)); }
    auto claim(Waits waits)
    {
        ClaimRequest request{range, "me/1", 3s, cluster.runtime->now() + 10s, false, std::nullopt};
        request.waits = waits;
        return cluster.ask(&Backend::claim, std::move(request));
    }
    /** Answers the looks of a claim: all keys are held. */
    void all_held()
    {
        for (std::uint16_t port = first_port; port < first_port + 3; ++port)
            while (cluster.unanswered(port) > 0 && cluster.waiting_at(port).at(0) == "EXISTS")
                cluster.node(port).answer(Value::integer(1));
        cluster.runtime->run_ready();
        // and do not expire
        for (std::uint16_t port = first_port; port < first_port + 3; ++port)
            while (cluster.unanswered(port) > 0 && cluster.waiting_at(port).at(1) == scripts::survey().sha)
                cluster.node(port).answer(FakeCluster::held());
        cluster.runtime->run_ready();
    }
    [[nodiscard]] Words last(std::uint16_t port) { return cluster.waiting_at(port); }
    void answer(std::uint16_t port, Value reply)
    {
        cluster.node(port).answer(std::move(reply));
        cluster.runtime->run_ready();
    }
    [[nodiscard]] std::size_t unanswered()
    {
        return cluster.unanswered(7001) + cluster.unanswered(7002) + cluster.unanswered(7003);
    }
};

Value list(std::vector<Value> elements)
{
    return Value::list(redis::resp::Type::array, std::move(elements));
}
Value named_another()
{
    return list({Value::text("1"), Value::text(std::string(32, 'a'))});
}
Value noted(std::string const& note)
{
    return list({Value::text("1\n" + note), Value::text("1")});
}

} // namespace

TEST_CASE("a release tells the waiters in the same step where the line shares the slot of the key", "[cluster]")
{
    auto const* const version = GENERATE("7.0.15", "6.2.14");
    FakeCluster cluster{version};
    cluster.connect("foo");
    auto const& script = scripts::release().for_channels(version[0] == '7');
    auto const reply =
        cluster.ask(&Backend::release, ReleaseRequest{FakeCluster::claim_on("foo"), cluster.runtime->now() + 1s, true});
    auto const words = cluster.waiting_at(7003);
    CHECK(
        Words(words.begin(), words.end() - 1) ==
        Words{"EVALSHA", script.sha, "3", "{foo}:waiting", "{foo}:watched", "foo"});
    cluster.node(7003).answer(named_another());
    REQUIRE(*reply);
    CHECK(std::get<Released>(**reply).named_another);
}

TEST_CASE("a release whose line is elsewhere asks it once the key is gone, and is answered then", "[cluster]")
{
    auto const* const version = GENERATE("7.0.15", "6.2.14");
    bool const in_shard = version[0] == '7';
    SpreadPool pool{version};
    auto const limit = pool.cluster.runtime->now() + 5s;
    auto const reply = pool.cluster.ask(&Backend::release, ReleaseRequest{pool.held(1), limit, true});
    REQUIRE(pool.unanswered() == 1);
    auto const& script = scripts::release().for_channels(in_shard);
    CHECK(pool.last(pool.port_of(1)) == Words{"EVALSHA", script.sha, "1", "p:1", "me/1"});
    pool.answer(pool.port_of(1), Value::text("1"));
    CHECK_FALSE(*reply);
    REQUIRE(pool.unanswered() == 1);
    auto const words = pool.last(pool.home);
    auto const& notify = scripts::notify_freed().for_channels(in_shard);
    CHECK(words == Words{"EVALSHA", notify.sha, "2", "{p:}:waiting", "{p:}:watched", "1", "+"});
    SECTION("it named another store")
    {
        pool.answer(pool.home, named_another());
        CHECK(std::get<Released>(reply->value()).named_another);
    }
    SECTION("it did not")
    {
        pool.answer(pool.home, Value::text("1"));
        CHECK_FALSE(std::get<Released>(reply->value()).named_another);
    }
    SECTION("an error does not spoil the release")
    {
        pool.answer(pool.home, Value::error("OOM command not allowed"));
        CHECK_FALSE(std::get<Released>(reply->value()).named_another);
    }
    SECTION("nor does a node that hangs: the release is answered within a second")
    {
        pool.cluster.runtime->run_for(900ms);
        CHECK_FALSE(*reply);
        pool.cluster.runtime->run_for(100ms);
        CHECK_FALSE(std::get<Released>(reply->value()).named_another);
        // later replies are ignored
        pool.answer(pool.home, named_another());
    }
    SECTION("a refused line is remembered, and releases are announced blindly")
    {
        pool.answer(pool.home, noted("?NOPERM this user has no permissions to run the 'lpop' command"));
        CHECK(pool.cluster.runtime->logged("may not use the line of waiters {p:}:waiting") == 1);
        static_cast<void>(pool.cluster.ask(&Backend::release, ReleaseRequest{pool.held(1), limit, true}));
        pool.answer(pool.port_of(1), Value::text("1"));
        CHECK(pool.last(pool.home) == Words{in_shard ? "SPUBLISH" : "PUBLISH", "{p:}:free", "1"});
    }
    SECTION("a line that the user may not use as a key is no part of the next call")
    {
        pool.answer(
            pool.home, Value::error("NOPERM this user has no permissions to access one of the keys used as arguments"));
        CHECK(pool.cluster.runtime->logged("may not use the line of waiters {p:}:waiting") == 1);
        CHECK(pool.last(pool.home) == Words{in_shard ? "SPUBLISH" : "PUBLISH", "{p:}:free", "1"});
        CHECK(std::holds_alternative<Released>(reply->value()));
    }
    SECTION("a refused channel is remembered, and nobody is told")
    {
        pool.answer(pool.home, noted("!NOPERM this user may not access one of the channels"));
        CHECK(pool.cluster.runtime->logged("may not announce releases on {p:}:free") == 1);
        auto const next = pool.cluster.ask(&Backend::release, ReleaseRequest{pool.held(1), limit, true});
        pool.answer(pool.port_of(1), Value::text("1"));
        CHECK(std::holds_alternative<Released>(next->value()));
        CHECK(pool.unanswered() == 0);
    }
    SECTION("the store is closed meanwhile")
    {
        pool.cluster.backend->shutdown();
        pool.cluster.runtime->run_ready();
        CHECK(std::holds_alternative<Released>(reply->value()));
        CHECK(pool.cluster.runtime->timers() == 0);
    }
}

TEST_CASE("releases of one turn share a call to their line, and wait for it", "[cluster]")
{
    SpreadPool pool;
    auto const limit = pool.cluster.runtime->now() + 5s;
    std::vector<std::shared_ptr<std::optional<ReleaseReply>>> replies;
    for (std::uint32_t index = 0; index < 2; ++index)
        replies.push_back(pool.cluster.ask(&Backend::release, ReleaseRequest{pool.held(index), limit, true}));
    for (std::uint32_t index = 0; index < 2; ++index)
        pool.cluster.node(pool.port_of(index)).answer(Value::text("1"));
    pool.cluster.runtime->run_ready();
    REQUIRE(pool.unanswered() == 1);
    CHECK(pool.last(pool.home).at(5) == "2");
    pool.answer(pool.home, named_another());
    for (auto const& reply : replies)
        CHECK(std::get<Released>(reply->value()).named_another);
}

TEST_CASE("nobody is told of what was not released, or shall not be announced", "[cluster]")
{
    SpreadPool pool;
    auto const limit = pool.cluster.runtime->now() + 5s;
    auto const lost = pool.cluster.ask(&Backend::release, ReleaseRequest{pool.held(1), limit, true});
    pool.answer(pool.port_of(1), Value::text("0"));
    CHECK(std::holds_alternative<NotOwner>(lost->value()));
    auto const quiet = pool.cluster.ask(&Backend::release, ReleaseRequest{pool.held(1), limit, false});
    pool.answer(pool.port_of(1), Value::text("1"));
    CHECK(std::holds_alternative<Released>(quiet->value()));
    CHECK(pool.unanswered() == 0);
}

TEST_CASE("a withdrawal from many slots tells of as many keys as it freed", "[cluster]")
{
    SpreadPool pool;
    bool const held = GENERATE(true, false);
    auto const reply = pool.cluster.ask(
        &Backend::withdraw, WithdrawRequest{pool.range, "me/1", pool.cluster.runtime->now() + 5s, true});
    for (std::uint32_t index = 0; index < 2; ++index)
        pool.answer(pool.port_of(index), Value::integer(held ? 2 : 1));
    if (held)
        for (std::uint32_t index = 0; index < 2; ++index) {
            CHECK(pool.last(pool.port_of(index)).back().empty());
            pool.answer(pool.port_of(index), Value::text("1"));
        }
    if (held) {
        CHECK_FALSE(*reply);
        CHECK(pool.last(pool.home).at(1) == scripts::notify_freed().in_shard.sha);
        CHECK(pool.last(pool.home).at(5) == "2");
        pool.answer(pool.home, Value::text("1"));
    }
    CHECK(std::holds_alternative<Released>(reply->value()));
    CHECK(pool.unanswered() == 0);
}

TEST_CASE("a claim that waits joins a line in another slot and tries once more", "[cluster]")
{
    SpreadPool pool;
    auto const reply = pool.claim(GENERATE(Waits::in_line, Waits::in_front));
    pool.all_held();
    REQUIRE(pool.unanswered() == 1);
    auto const words = pool.last(pool.home);
    REQUIRE(words.size() == 6);
    CHECK(Words(words.begin(), words.begin() + 4) == Words{"EVALSHA", scripts::line_up().sha, "1", "{p:}:waiting"});
    CHECK(words.at(4).size() == 32);
    CHECK_FALSE(*reply);
    SECTION("it stands there already: no release was missed")
    {
        pool.answer(pool.home, Value::text("there"));
        CHECK(std::holds_alternative<Busy>(reply->value()));
    }
    SECTION("it joined, and all keys are still held")
    {
        pool.answer(pool.home, Value::text("joined"));
        CHECK_FALSE(*reply);
        pool.all_held();
        CHECK(std::holds_alternative<Busy>(reply->value()));
    }
    SECTION("it joined, and a key has become free meanwhile: it leaves the line")
    {
        pool.answer(pool.home, Value::text("joined"));
        for (std::uint32_t index = 0; index < 2; ++index)
            pool.answer(pool.port_of(index), Value::integer(index == 0 ? 1 : 0));
        REQUIRE(pool.unanswered() == 1);
        CHECK(pool.last(pool.port_of(1)).at(0) == "SET");
        pool.answer(pool.port_of(1), Value::status("OK"));
        CHECK(std::get<Granted>(reply->value()).index == 1);
        CHECK(pool.last(pool.home) == Words{"LREM", "{p:}:waiting", "0", words.at(4)});
    }
    SECTION("the line is refused: it is remembered, and not asked for again")
    {
        pool.answer(pool.home, Value::text("?NOPERM this user has no permissions to run the 'rpush' command"));
        CHECK(std::holds_alternative<Busy>(reply->value()));
        CHECK(pool.cluster.runtime->logged("may not use the line of waiters {p:}:waiting") == 1);
        auto const next = pool.claim(Waits::in_line);
        pool.all_held();
        CHECK(std::holds_alternative<Busy>(next->value()));
        CHECK(pool.unanswered() == 0);
    }
    SECTION("the line's node hangs: the claim is answered all the same")
    {
        pool.cluster.runtime->run_for(500ms);
        CHECK(std::holds_alternative<Busy>(reply->value()));
    }
    while (pool.unanswered() > 0)
        pool.answer(pool.home, Value::integer(0));
}

TEST_CASE("a claim that does not wait leaves a line in another slot alone", "[cluster]")
{
    SpreadPool pool;
    auto const reply = pool.claim(Waits::no);
    pool.all_held();
    CHECK(std::holds_alternative<Busy>(reply->value()));
    CHECK(pool.unanswered() == 0);
}

TEST_CASE("leaving a line asks the node that has it", "[cluster]")
{
    SpreadPool pool;
    REQUIRE(pool.cluster.backend->capabilities().keeps_line);
    pool.cluster.backend->leave_line(pool.range);
    pool.cluster.runtime->run_ready();
    CHECK(pool.last(pool.home).at(0) == "LREM");
    CHECK(pool.last(pool.home).at(1) == "{p:}:waiting");
}

TEST_CASE("messages in a cluster say whose turn it is, and observers keep their key in the channel's slot", "[cluster]")
{
    SpreadPool pool;
    std::vector<WatchEvent> events;
    std::vector<WatchEvent> observed;
    auto const waiter =
        pool.cluster.backend->watch(pool.range, WatchAs::waiter, [&](WatchEvent event) { events.push_back(event); });
    auto const observer = pool.cluster.backend->watch(
        pool.range, WatchAs::observer, [&](WatchEvent event) { observed.push_back(event); });
    pool.cluster.runtime->run_ready();
    auto& hints = pool.cluster.hints(pool.home);
    hints.answer(Value::list(Type::push, {Value::text("ssubscribe"), Value::text("{p:}:free"), Value::integer(1)}));
    pool.cluster.runtime->run_ready();
    CHECK(pool.last(pool.home) == Words{"SET", "{p:}:watched", "1", "PX", "60000"});
    pool.answer(pool.home, Value::status("OK"));
    auto const message = [&](std::string const& text) {
        hints.push(Value::list(Type::push, {Value::text("smessage"), Value::text("{p:}:free"), Value::text(text)}));
    };
    pool.cluster.backend->leave_line(pool.range);
    auto const name = pool.last(pool.home).back();
    message(std::string(32, 'a'));
    message(name);
    CHECK(events == std::vector{WatchEvent::in_force, WatchEvent::others_turn, WatchEvent::our_turn});
    CHECK(observed == std::vector{WatchEvent::in_force, WatchEvent::hint, WatchEvent::hint});
    // after turns, too, it is known to be in force
    hints.become(redis::ConnectionState::backing_off);
    CHECK(events.back() == WatchEvent::interrupted);
    CHECK(observed.back() == WatchEvent::interrupted);
}

} // namespace tenure::test
