// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests for keys that are held in places, as they go to the server, and its answers.
#include "unit/store/redis/backend_fixture.hpp"

#include "store/redis/link/subscriber.hpp"
#include "store/redis/shares/replies.hpp"
#include "store/redis/shares/scripts.hpp"

#include "harness/expect_failure.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::test
{

namespace
{

using namespace std::chrono_literals;
using redis::resp::Type;

Value array(std::vector<Value> elements)
{
    return Value::list(Type::array, std::move(elements));
}
Value place_held(std::string number, std::string note = "")
{
    return array({Value::text("held"), Value::text(std::move(number)), Value::text(std::move(note))});
}
Value place_busy(std::string number, std::int64_t ahead, std::int64_t due, std::string note = "")
{
    return array(
        {Value::text("busy"), Value::text(std::move(number)), Value::integer(ahead), Value::integer(due),
         Value::text(std::move(note))});
}
Value const key_refused =
    Value::error("NOPERM this user has no permissions to access one of the keys used as arguments");

/** Requests for the key "job" on a server that is the test. */
struct SharesFixture : BackendFixture {
    explicit SharesFixture(redis::BackendSettings settings = {.name = "redis://fake:6379/0"})
        : BackendFixture("7.0.15", std::move(settings))
    {
        connections.info.run_id = std::string(redis::resp::Command::run_id_size, 'b');
    }

    Answer<ClaimReply> claim(Waits waits = Waits::in_line, Share share = {2, 5})
    {
        auto request = claim_of(range, true);
        request.share = share;
        request.waits = waits;
        return ask_now(&Backend::claim, std::move(request));
    }
    Answer<ReleaseReply> release(std::string owner = "me/1", bool notifications = true)
    {
        return ask(
            &Backend::release,
            ReleaseRequest{BackendFixture::held(range, 0, std::move(owner)), runtime->now() + 5s, notifications});
    }
    /** Connected, by a claim that was granted and is forgotten. */
    void connect()
    {
        auto const reply = claim();
        answer(place_held("7"));
        REQUIRE(std::holds_alternative<Granted>(reply->value()));
        connection().sent.clear();
    }

    KeyRangePtr range = shared_key("job");
};

} // namespace

TEST_CASE("a claim of a place is one script call, whose keys are all declared", "[redis][shares]")
{
    SharesFixture test;
    auto const reply = test.claim();
    CHECK(
        test.last() == Words{
                           "EVALSHA", redis::place_scripts::claim().plain.sha, "3", "tenure:fence", "{job}:watched",
                           "job", "me/1", "3000", "2", "5", test.last().at(10), "1", "+"});
    auto const since = test.runtime->now();
    SECTION("it holds")
    {
        test.answer(place_held("41"));
        auto const& granted = std::get<Granted>(reply->value());
        CHECK(granted.fencing_token == 41);
        CHECK(granted.ttl == 3s);
        CHECK(granted.since == since);
    }
    SECTION("it waits")
    {
        test.answer(place_busy("41", 3, 250));
        auto const& answered = std::get<Busy>(reply->value());
        CHECK(answered.earliest_expiry == 250ms);
        REQUIRE(answered.place);
        CHECK(answered.place->number == 41);
        CHECK(answered.place->ahead == 3);
        CHECK(answered.place->ttl == 3s);
        CHECK(answered.place->since == since);
    }
    SECTION("it has no place")
    {
        test.answer(place_busy("", 1024, 250));
        CHECK_FALSE(std::get<Busy>(reply->value()).place);
    }
    SECTION("a key of another kind, which expires")
    {
        test.answer(array({Value::text("other"), Value::integer(900)}));
        auto const& answered = std::get<Busy>(reply->value());
        CHECK(answered.earliest_expiry == 900ms);
        CHECK_FALSE(answered.never_frees);
        CHECK_FALSE(answered.place);
    }
    SECTION("a key of another kind, for ever")
    {
        test.answer(array({Value::text("other"), Value::integer(-1)}));
        CHECK(std::get<Busy>(reply->value()).never_frees);
    }
    SECTION("a malformed answer has an unknown effect, and ends the connection")
    {
        test.answer(GENERATE(
            Value::text("held"), place_held("0"), place_held("x"), place_busy("x", 1, 1), place_busy("1", -1, 1),
            place_busy("1", 1, -1), array({Value::text("other"), Value::integer(-2)}),
            array({Value::text("held"), Value::text("1")}), array({})));
        CHECK(expect_unknown(reply->value()).error == errc::protocol_error);
        CHECK(test.connection().invalidated);
    }
    SECTION("a refusal is one")
    {
        test.answer(Value::error("NOPERM User worker has no permissions to run the 'hset' command"));
        CHECK(expect_refused(reply->value()).error == errc::permission_denied);
    }
}

TEST_CASE("a try leaves no place behind, which its call says", "[redis][shares]")
{
    SharesFixture test;
    (void)test.claim(Waits::no);
    CHECK(test.last().at(11).empty());
    test.answer(place_busy("", 1, 1));
}

TEST_CASE("claims of places that come together leave in one write", "[redis][shares]")
{
    SharesFixture test;
    test.connect();
    auto request = test.claim_of(test.range, true);
    request.share = Share{};
    auto first = request;
    first.with_others = true;
    auto const one = test.ask(&Backend::claim, first);
    auto const other = test.ask(&Backend::claim, request);
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 2);
    CHECK(test.connection().sent.at(0).with_next);
    CHECK_FALSE(test.connection().sent.at(1).with_next);
    test.answer(place_held("8"));
    test.answer(place_held("9"));
    CHECK(std::holds_alternative<Granted>(one->value()));
    CHECK(std::holds_alternative<Granted>(other->value()));
}

TEST_CASE(
    "without the key of observers a claim is sent once more, and this process publishes a hint", "[redis][shares]")
{
    SharesFixture test;
    auto const reply = test.claim();
    test.answer(key_refused);
    CHECK(
        test.last() == Words{
                           "EVALSHA", redis::place_scripts::claim().plain.sha, "2", "tenure:fence", "job", "me/1",
                           "3000", "2", "5", test.last().at(9), "1", ""});
    test.answer(place_busy("41", 1, 250, "+"));
    CHECK(std::get<Busy>(reply->value()).place);
    CHECK(test.last() == Words{"PUBLISH", "{job}:free", "1"});
    CHECK(test.runtime->logged("may not use the line of waiters {job}:waiting") == 1);
}

TEST_CASE("releases and withdrawals of one turn share a call", "[redis][shares]")
{
    SharesFixture test;
    test.connect();
    auto const one = test.release("me/1");
    auto const two = test.release("me/2");
    auto const three =
        test.ask(&Backend::withdraw, WithdrawRequest{test.range, "me/3", test.runtime->now() + 5s, true});
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 1);
    CHECK(
        test.last() == Words{
                           "EVALSHA", redis::place_scripts::leave().plain.sha, "6", "{job}:watched", "job",
                           "{job}:watched", "job", "{job}:watched", "job", "+", "me/1", "me/2", "me/3"});
    SECTION("each has its answer")
    {
        test.answer(Value::text("100"));
        CHECK(std::holds_alternative<Released>(one->value()));
        CHECK(std::holds_alternative<NotOwner>(two->value()));
        CHECK(std::holds_alternative<Released>(three->value()));
        CHECK(test.connection().sent.size() == 1);
    }
    SECTION("a message that the script has left to this process is a hint")
    {
        test.answer(array({Value::text("110"), Value::text(""), Value::text("+"), Value::text("")}));
        CHECK(std::holds_alternative<Released>(two->value()));
        CHECK(test.connection().sent.size() == 2);
        CHECK(test.last() == Words{"PUBLISH", "{job}:free", "1"});
    }
    SECTION("where scripts may not publish, this process does from then on")
    {
        test.answer(array({Value::text("111"), Value::text("!ERR no PUBLISH here"), Value::text(""), Value::text("")}));
        CHECK(test.last() == Words{"PUBLISH", "{job}:free", "1"});
        CHECK(test.runtime->logged("does not publish in scripts") == 1);
        (void)test.release();
        test.runtime->run_ready();
        CHECK(test.last().at(5) == "-");
    }
    SECTION("a malformed answer is unknown to each")
    {
        test.answer(GENERATE(Value::text("10"), Value::text("1x1"), array({Value::text("111")}), Value::integer(3)));
        CHECK(expect_unknown(one->value()).error == errc::protocol_error);
        CHECK(expect_unknown(three->value()).error == errc::protocol_error);
    }
    SECTION("a server that refuses several keys gets each alone")
    {
        test.answer(Value::error("CROSSSLOT Keys in request don't hash to the same slot"));
        CHECK(test.connection().sent.size() == 4);
        for (int i = 0; i < 3; ++i)
            test.answer(Value::text("1"));
        CHECK(std::holds_alternative<Released>(two->value()));
    }
}

TEST_CASE("a release that shall wake no waiter publishes nothing", "[redis][shares]")
{
    SharesFixture test;
    test.connect();
    auto const reply = test.release("me/1", false);
    test.runtime->run_ready();
    CHECK(test.last() == Words{"EVALSHA", redis::place_scripts::leave().plain.sha, "1", "job", "", "me/1"});
    test.answer(array({Value::text("1"), Value::text("+")}));
    CHECK(std::holds_alternative<Released>(reply->value()));
    CHECK(test.connection().sent.size() == 1);
}

TEST_CASE("renewals of places and of plain keys are calls of their own", "[redis][shares]")
{
    SharesFixture test;
    test.connect();
    std::vector<std::size_t> answered;
    std::vector<RenewRequest> const requests{
        {BackendFixture::held(test.range), 3s, test.runtime->now() + 5s},
        {BackendFixture::held(named_key("plain")), 3s, test.runtime->now() + 5s},
        {BackendFixture::held(shared_key("other")), 3s, test.runtime->now() + 5s}};
    test.backend->renew(requests, [&](std::span<RenewAnswer> answers) {
        for (auto const& answer : answers)
            if (std::holds_alternative<Renewed>(answer.reply))
                answered.push_back(answer.request);
    });
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 2);
    CHECK(test.words(0).at(3) == "plain");
    CHECK(
        test.words(1) ==
        Words{"EVALSHA", redis::place_scripts::renew().plain.sha, "2", "job", "other", "3000", "me/1", "me/1"});
    test.answer(Value::text("1"));
    test.answer(Value::text("01"));
    std::ranges::sort(answered);
    CHECK(answered == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a place is taken away and detached by one call", "[redis][shares]")
{
    SharesFixture test;
    test.connect();
    SECTION("eviction")
    {
        auto const reply =
            test.ask_now(&Backend::evict, EvictRequest{test.range, 0, "me/1", "operator", test.runtime->now() + 5s});
        CHECK(
            test.last() == Words{
                               "EVALSHA", redis::place_scripts::replace().plain.sha, "2", "{job}:watched", "job", "+",
                               "me/1", "evicted/operator", "evict"});
        test.answer(array({Value::integer(700), Value::text("")}));
        CHECK(std::get<Evicted>(reply->value()).remaining == 700ms);
    }
    SECTION("eviction of an owner without a place")
    {
        auto const reply =
            test.ask_now(&Backend::evict, EvictRequest{test.range, 0, "me/1", "operator", test.runtime->now() + 5s});
        test.answer(array({Value::integer(-2), Value::text("")}));
        CHECK(std::holds_alternative<NotOwner>(reply->value()));
    }
    SECTION("detachment")
    {
        ReleaseRequest request{BackendFixture::held(test.range), test.runtime->now() + 5s, true, 9s};
        auto const reply = test.ask_now(&Backend::release, request);
        CHECK(test.last().at(8) == "9000");
        CHECK(test.last().at(7) == "kept/me/1");
        test.answer(array({Value::integer(9000), Value::text("")}));
        CHECK(std::holds_alternative<Released>(reply->value()));
    }
    SECTION("a malformed answer")
    {
        auto const reply =
            test.ask_now(&Backend::evict, EvictRequest{test.range, 0, "me/1", "operator", test.runtime->now() + 5s});
        test.answer(
            GENERATE(Value::integer(1), array({Value::integer(-1), Value::text("")}), array({Value::integer(1)})));
        CHECK(expect_unknown(reply->value()).error == errc::protocol_error);
    }
}

TEST_CASE("where claims are delayed, each call that may let a place hold has marker and run id", "[redis][shares]")
{
    SharesFixture test({.name = "redis://fake:6379/0", .delay_after_failover = true});
    auto const reply = test.claim();
    auto const run_id = std::string(redis::resp::Command::run_id_size, 'b');
    CHECK(test.last().at(1) == redis::place_scripts::claim().delayed.sha);
    auto const words = test.last();
    CHECK(
        Words(words.begin() + 3, words.begin() + 7) == Words{"tenure:fence", "{job}:watched", "tenure:master", "job"});
    CHECK(test.last().back() == run_id);
    test.answer(array({Value::text("closed"), Value::text("41"), Value::integer(2), Value::integer(1500)}));
    auto const& closed = std::get<Busy>(reply->value());
    CHECK(closed.earliest_expiry == 1500ms);
    REQUIRE(closed.place);
    CHECK(closed.place->number == 41);
    CHECK(test.runtime->logged("no claims for another 1500 ms") == 1);
    (void)test.release();
    test.runtime->run_ready();
    CHECK(
        test.last() == Words{
                           "EVALSHA", redis::place_scripts::leave().delayed.sha, "3", "tenure:master", "{job}:watched",
                           "job", "+", "me/1", run_id});
    test.answer(Value::text("1"));
}

TEST_CASE("an inspection reads places in their order, and those that hold by the rule", "[redis][shares]")
{
    auto const text = [](std::string words) { return Value::text(std::move(words)); };
    auto const places = redis::read_places(array(
        {text("w/1/c"), text("30 500 3 3 2"), text("w/1/a"), text("10 700 1 3 0"), text("evicted/ops/20"),
         text("20 600 1 3 0"), text("w/1/b"), text("25 400 1 3 1")}));
    REQUIRE(places);
    REQUIRE(places->size() == 4);
    CHECK(places->at(0) == Place{"w/1/a", 1, 3, 10, 700ms, true});
    CHECK(places->at(1) == Place{"evicted/ops", 1, 3, 20, 600ms, true});
    // a place ahead of it has lapsed since the last script
    CHECK(places->at(2) == Place{"w/1/b", 1, 3, 25, 400ms, true});
    CHECK(places->at(3) == Place{"w/1/c", 3, 3, 30, 500ms, false});
    for (auto const* const malformed : {"", "1 2 3 4", "1 2 3 4 5 6", "1 2 3 4 x", "1 2 3 2147483648 0", "1  2 3 4"})
        CHECK_FALSE(redis::read_places(array({text("w/1/a"), text(malformed)})));
    CHECK_FALSE(redis::read_places(array({text("w/1/a")})));
}

TEST_CASE("numbers behind names are places that hold", "[redis][shares]")
{
    using redis::whose_turn;
    std::string const own = "0123456789abcdef0123456789abcdef";
    std::string const other(32, 'f');
    std::vector<std::uint64_t> held;
    CHECK(whose_turn(own + ":12 " + other + ":13 " + own + ":14", own, &held) == WatchEvent::our_turn);
    CHECK(held == std::vector<std::uint64_t>{12, 14});
    held.clear();
    CHECK(whose_turn(other + ":13", own, &held) == WatchEvent::others_turn);
    CHECK(held.empty());
    for (auto const* const number : {":", ":x", ":1x", ":-1", ":1:2", ":18446744073709551616"})
        CHECK(whose_turn(own + number, own, &held) == WatchEvent::hint);
}

TEST_CASE("a message with numbers is a grant, but where replicas acknowledge claims", "[redis][shares]")
{
    auto const replicas = GENERATE(0U, 1U);
    redis::BackendSettings settings{.name = "redis://fake:6379/0"};
    settings.replicas.acknowledged_by = replicas;
    SharesFixture test(std::move(settings));
    std::vector<WatchEvent> events;
    std::vector<std::uint64_t> numbers;
    auto const watch = test.backend->watch(test.range, WatchAs::waiter, [&](WatchNews news) {
        events.push_back(news.event);
        numbers.insert(numbers.end(), news.held.begin(), news.held.end());
    });
    auto& subscriber = *test.connections.made.back();
    subscriber.become(redis::ConnectionState::ready);
    test.runtime->run_ready();
    subscriber.answer(
        Value::list(Type::push, {Value::text("subscribe"), Value::text("{job}:free"), Value::integer(1)}));
    test.runtime->run_ready();
    // the name of this store, as a claim tells it
    (void)test.claim();
    std::string name;
    for (auto const& connection : test.connections.made)
        for (auto const& sent : connection->sent)
            if (sent.words.size() > 10)
                name = sent.words.at(10);
    subscriber.push(
        Value::list(Type::push, {Value::text("message"), Value::text("{job}:free"), Value::text(name + ":12")}));
    test.runtime->run_ready();
    CHECK(events == std::vector{WatchEvent::in_force, WatchEvent::our_turn});
    CHECK(numbers == (replicas == 0 ? std::vector<std::uint64_t>{12} : std::vector<std::uint64_t>{}));
}

} // namespace tenure::test
