// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/expect_failure.hpp"
#include "harness/renewals.hpp"
#include "unit/store/redis/backend_fixture.hpp"
#include "unit/store/redis/link/connection_fixture.hpp"

#include "store/redis/link/subscriber.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using redis::ConnectionState;

namespace
{

struct RequestsSetting : BackendFixture {
    RequestsSetting() = default;
    explicit RequestsSetting(std::string server, std::string const& version)
        : BackendFixture(version)
    {
        connections.info.server = std::move(server);
    }

    /** Connected, by a claim that was granted. */
    void connect()
    {
        auto const reply = ask(&Backend::claim, claim_of(named_key("first"), false));
        runtime->run_ready();
        connection().answer(Value::status("OK"));
        REQUIRE(reply->has_value());
        connection().sent.clear();
    }
    /** How many keys the script gets that releases "a". */
    [[nodiscard]] std::string keys_of_release(Instant limit)
    {
        static_cast<void>(ask(&Backend::release, ReleaseRequest{held("a"), limit, true}));
        runtime->run_ready();
        return connection().sent.back().words.at(2);
    }
    [[nodiscard]] static ClaimPtr held(std::string key) { return BackendFixture::held(named_key(std::move(key))); }
};

Value list(std::vector<Value> elements)
{
    return Value::list(redis::resp::Type::array, std::move(elements));
}

} // namespace

TEST_CASE("a script that the server does not know is sent as text with the same arguments", "[redis][requests]")
{
    RequestsSetting setting;
    auto const reply = setting.ask(&Backend::claim, setting.claim_of(numbered_keys("p", 2), true));
    setting.runtime->run_ready();
    auto const by_name = setting.words(0);
    CHECK(
        by_name == Words{
                       "EVALSHA", redis::scripts::first_free().sha, "3", "tenure:fence", "p0", "p1", "me/1", "3000",
                       "1", "1", "", ""});
    setting.connection().answer(Value::error("NOSCRIPT No matching script. Please use EVAL."));
    auto by_text = setting.words(1);
    CHECK(by_text.at(0) == "EVAL");
    CHECK(by_text.at(1) == redis::scripts::first_free().text);
    CHECK(Words(by_text.begin() + 2, by_text.end()) == Words(by_name.begin() + 2, by_name.end()));
    setting.connection().answer(
        Value::list(redis::resp::Type::array, {Value::integer(1), Value::text("1700000000000000")}));
    REQUIRE(reply->has_value());
    auto const granted = std::get<Granted>(**reply);
    CHECK(granted.index == 1);
    CHECK(granted.fencing_token == 1700000000000000U);
    CHECK(granted.since == setting.connection().sent.at(1).since);
}

TEST_CASE("an answer that makes no sense is unknown, and never a grant, a renewal or a release", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const malformed = GENERATE(Value(), Value::integer(3), Value::status("FINE"), Value::text("zz"));
    auto const claimed = setting.ask(&Backend::claim, setting.claim_of(numbered_keys("p", 2), true));
    auto const renewed = renew_one(*setting.backend, RenewRequest{setting.held("a"), 3s, setting.runtime->now() + 1s});
    auto const released =
        setting.ask(&Backend::release, ReleaseRequest{setting.held("b"), setting.runtime->now() + 1s, true});
    auto const withdrawn =
        setting.ask(&Backend::withdraw, WithdrawRequest{named_key("c"), "me/1", setting.runtime->now() + 1s, true});
    setting.runtime->run_ready();
    REQUIRE(setting.connection().unanswered() == 4);
    auto const withdrawal = setting.words(1);
    for (int i = 0; i < 4; ++i)
        setting.connection().answer(malformed);
    setting.runtime->run_ready();
    CHECK(expect_unknown(claimed->value()).error == errc::protocol_error);
    CHECK(expect_unknown(renewed->value()).error == errc::protocol_error);
    CHECK(expect_unknown(released->value()).error == errc::protocol_error);
    // a number alone is what a withdrawal answers, but not as an integer
    CHECK(expect_unknown(withdrawn->value()).error == errc::protocol_error);
    // replies may no longer match requests: later replies on this connection are ignored
    CHECK(setting.connection().invalidated);
}

TEST_CASE("a plain SET is asked how long the key is held only when it was busy", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const reply = setting.ask(&Backend::claim, setting.claim_of(named_key("job"), false));
    CHECK(setting.words(0) == Words{"SET", "job", "me/1", "NX", "PX", "3000"});
    setting.connection().answer(Value());
    REQUIRE_FALSE(reply->has_value());
    CHECK(setting.words(1).at(1) == redis::scripts::survey().sha);
    SECTION("and tells it")
    {
        setting.connection().answer(
            Value::list(redis::resp::Type::array, {Value::integer(-1), Value::integer(700), Value::integer(0)}));
        CHECK(std::get<Busy>(reply->value()).earliest_expiry == 700ms);
    }
    SECTION("and is busy all the same where the question is refused")
    {
        setting.connection().answer(Value::error("NOPERM no"));
        CHECK_FALSE(std::get<Busy>(reply->value()).earliest_expiry);
    }
}

TEST_CASE("a large range is surveyed from the second busy answer on, and then not for a while", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const range = numbered_keys("p", 1000);
    auto const attempt = [&](bool survey_expected) {
        auto const reply = setting.ask(&Backend::claim, setting.claim_of(range, false));
        auto const words = setting.connection().sent.back().words;
        CHECK(words.at(words.size() - 4) == (survey_expected ? "1" : ""));
        std::vector<Value> answer{Value::integer(-1)};
        if (survey_expected) {
            answer.push_back(Value::integer(2000));
            answer.push_back(Value::integer(0));
        }
        setting.connection().answer(Value::list(redis::resp::Type::array, std::move(answer)));
        return std::get<Busy>(reply->value()).earliest_expiry;
    };
    CHECK_FALSE(attempt(false));
    CHECK(attempt(true) == 2000ms);
    setting.runtime->run_for(100ms);
    CHECK(attempt(false) == 1900ms);
    setting.runtime->run_for(200ms);
    CHECK(attempt(true) == 2000ms);
}

TEST_CASE(
    "where the first part of a large range was held, cheaper commands look for the part with a gap first",
    "[redis][requests]")
{
    using redis::resp::Type;
    auto const range = numbered_keys("p", 600);
    auto const grant = [](long index) { return Value::list(Type::array, {Value::integer(index), Value::text("")}); };
    RequestsSetting setting;
    setting.connect();
    auto claim = [&] {
        auto reply = setting.ask(&Backend::claim, setting.claim_of(range, false));
        setting.runtime->run_ready();
        return reply;
    };
    auto& connection = setting.connection();

    // the only command without an answer asks for the whole range
    auto grant_in_whole_range = [&](std::size_t command, long index) {
        REQUIRE(connection.unanswered() == 1);
        CHECK(setting.words(command).at(2) == "600");
        connection.answer(grant(index));
    };
    auto answer_parts = [&] {
        for (long const held : {128L, 128L, 127L, 128L, 10L})
            connection.answer(Value::integer(held));
    };

    // nothing is known: one call over the whole range
    auto reply = claim();
    grant_in_whole_range(0, 300);
    CHECK(std::get<Granted>(reply->value()).index == 300);
    connection.sent.clear();

    // the result of a search of parts is only a hint: its keys are tried, and the claim counts its keys from there
    reply = claim();
    REQUIRE(connection.unanswered() == 5);
    CHECK(setting.words(0).at(0) == "EXISTS");
    CHECK(setting.words(0).size() == 129);
    CHECK(setting.words(1).at(1) == "p128");
    CHECK(setting.words(4).size() == 89);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(connection.sent.at(i).with_next == (i < 4));
    answer_parts();
    REQUIRE(connection.unanswered() == 1);
    CHECK(setting.words(5).at(2) == "128");
    CHECK(setting.words(5).at(3) == "p256");
    connection.answer(grant(47));
    CHECK(std::get<Granted>(reply->value()).index == 303);
    CHECK(std::get<Granted>(reply->value()).since == connection.sent.at(5).since);
    connection.sent.clear();

    SECTION("somebody else is faster: the whole range is asked for in one step")
    {
        reply = claim();
        answer_parts();
        connection.answer(Value::list(Type::array, {Value::integer(-1)}));
        grant_in_whole_range(6, 5);
        CHECK(std::get<Granted>(reply->value()).index == 5);
        connection.sent.clear();
        // and the first part has gaps again
        reply = claim();
        grant_in_whole_range(0, 6);
    }
    SECTION("no part has a gap, or the server does not tell: the whole range decides")
    {
        auto const answer = GENERATE(Value::integer(128), Value::error("ERR no"));
        reply = claim();
        for (int i = 0; i < 5; ++i)
            connection.answer(i == 4 && answer.is_integer() ? Value::integer(88) : answer);
        REQUIRE(connection.unanswered() == 1);
        CHECK(setting.words(5).at(2) == "600");
        connection.answer(Value::list(Type::array, {Value::integer(-1)}));
        CHECK(std::holds_alternative<Busy>(reply->value()));
    }
    SECTION("a count that is none drops the connection, and the whole range decides")
    {
        reply = claim();
        for (int i = 0; i < 5; ++i)
            connection.answer(Value::text("1"));
        CHECK(connection.invalidated);
        CHECK(setting.words(5).at(2) == "600");
        connection.answer(grant(1));
    }
    SECTION("a later attempt of the same owner looks for its own claim in the whole range")
    {
        auto request = setting.claim_of(range, false);
        request.earliest_attempt = setting.runtime->now();
        reply = setting.ask(&Backend::claim, std::move(request));
        setting.runtime->run_ready();
        grant_in_whole_range(0, 1);
    }
}

TEST_CASE(
    "renewals that are asked for together make one call, and a single bad one is found by asking one by one",
    "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    auto const replies =
        renew_together(*setting.backend, {{setting.held("a"), 3s, limit}, {setting.held("b"), 3s, limit}});
    auto const& good = replies[0];
    auto const& bad = replies[1];
    setting.runtime->run_ready();
    REQUIRE(setting.connection().sent.size() == 1);
    CHECK(setting.words(0) == Words{"EVALSHA", redis::scripts::renew().sha, "2", "a", "b", "3000", "me/1", "me/1"});
    SECTION("an error about a key")
    {
        setting.connection().answer(Value::error("NOPERM this user has no permissions to access one of the keys"));
        REQUIRE(setting.connection().sent.size() == 3);
        setting.connection().answer(Value::text("1"));
        setting.connection().answer(Value::error("NOPERM this user has no permissions to access one of the keys"));
        CHECK(std::holds_alternative<Renewed>(good->value()));
        CHECK(std::get<Renewed>(good->value()).since == setting.connection().sent.at(1).since);
        CHECK(expect_refused(bad->value()).error == errc::permission_denied);
    }
    SECTION("an error about the server")
    {
        setting.connection().answer(Value::error("MISCONF Redis is configured to save RDB snapshots"));
        CHECK(setting.connection().sent.size() == 1);
        CHECK(expect_refused(good->value()).error == errc::store_refused);
        CHECK(expect_refused(bad->value()).error == errc::store_refused);
    }
}

TEST_CASE("no renewal is written once its lease is over, not even as a repetition", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    auto const released = setting.held("a");
    auto const kept = setting.held("b");
    auto const replies = renew_together(*setting.backend, {{released, 3s, limit}, {kept, 3s, limit}});
    auto const& first = replies[0];
    auto const& second = replies[1];
    bool const in_the_same_turn = GENERATE(true, false);
    if (in_the_same_turn)
        released->mark.ended = true;
    setting.runtime->run_ready();
    if (!in_the_same_turn) {
        CHECK(setting.words(0).at(2) == "2");
        released->mark.ended = true;
        setting.connection().answer(Value::error("NOSCRIPT No matching script. Please use EVAL."));
        setting.runtime->run_ready();
    }
    auto const written = setting.words(in_the_same_turn ? 0 : 1);
    CHECK(Words(written.begin() + 2, written.end()) == Words{"1", "b", "3000", "me/1"});
    setting.connection().answer(Value::text("1"));
    setting.runtime->run_ready();
    REQUIRE(first->has_value());
    REQUIRE(second->has_value());
    CHECK(expect_not_sent(first->value()).error == errc::released);
    CHECK(std::holds_alternative<Renewed>(second->value()));
}

TEST_CASE("a renewal while there is no connection is answered in the same turn", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    setting.connection().become(ConnectionState::backing_off);
    auto const reply = renew_one(*setting.backend, RenewRequest{setting.held("a"), 3s, setting.runtime->now() + 5s});
    setting.runtime->run_ready();
    CHECK(expect_not_sent(reply->value()).error == errc::store_unavailable);
    CHECK(setting.connection().sent.empty());
}

TEST_CASE("renewals alone bring back a connection whose login was refused for a moment", "[redis][requests]")
{
    auto const runtime = std::make_shared<FakeRuntime>();
    RedisConfig const config;
    FakeStreams streams;
    auto const backend = redis::make_backend(
        runtime, [&](std::string_view) { return redis::make_connection(runtime, config, streams.factory()); },
        {.name = "redis://fake:6379/0"});
    bool reachable = false;
    backend->on_reachable([&reachable] { reachable = true; });
    auto const claim = std::make_shared<Claim>();
    claim->range = named_key("a");
    claim->owner = "me/1";
    std::optional<RenewReply> reply;
    auto const renew = [&] {
        reply.reset();
        renew_one(
            *backend, {claim, 30s, runtime->now() + 5s}, [&reply](RenewReply answer) { reply = std::move(answer); });
        runtime->run_ready();
    };
    auto const log_in = [&](std::string const& answer) {
        streams.last().accept();
        runtime->run_ready();
        streams.last().send(answer);
        runtime->run_ready();
    };
    renew();
    log_in(hello_reply);
    REQUIRE(reachable);
    renew();
    streams.last().send("$1\r\n1\r\n");
    runtime->run_ready();
    REQUIRE(reply);
    CHECK(std::holds_alternative<Renewed>(*reply));

    // it restarts, and takes logins before its users are there
    streams.last().end();
    runtime->run_for(100ms);
    REQUIRE(streams.count() == 2);
    log_in("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    reachable = false;
    renew();
    REQUIRE(reply);
    CHECK(expect_not_sent(*reply).error == errc::store_unavailable);
    CHECK(streams.count() == 2);

    runtime->run_for(config.reconnect_backoff);
    renew();
    REQUIRE(streams.count() == 3);
    log_in(hello_reply);
    CHECK(reachable);
    renew();
    streams.last().send("$1\r\n1\r\n");
    runtime->run_ready();
    REQUIRE(reply);
    CHECK(std::holds_alternative<Renewed>(*reply));
    backend->shutdown();
    runtime->run_ready();
}

TEST_CASE("releases that wait for a connection keep their own time limits", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    setting.connection().become(ConnectionState::backing_off);
    auto const now = setting.runtime->now();
    static_cast<void>(setting.ask(&Backend::release, ReleaseRequest{setting.held("a"), now + 1s, true}));
    static_cast<void>(setting.ask(&Backend::release, ReleaseRequest{setting.held("b"), now + 2s, true}));
    setting.runtime->run_ready();
    REQUIRE(setting.connection().sent.size() == 2);
    CHECK(setting.connection().sent.at(0).not_after.at() == now + 1s);
    CHECK(setting.connection().sent.at(1).not_after.at() == now + 2s);
}

TEST_CASE("servers that compare and delete by themselves are asked to where nobody is woken", "[redis][requests]")
{
    struct Case {
        std::string server;
        std::string version;
        Words release;
        bool native_renewal;
    };
    auto const script = Words{"EVALSHA", redis::scripts::release().everywhere.sha, "1", "a", "me/1"};
    Words const release_with_line{
        "EVALSHA", redis::scripts::release().everywhere.sha, "3", "{a}:waiting", "{a}:watched", "a", "me/1"};
    auto const [server, version, release, native_renewal] = GENERATE_COPY(values<Case>({
        {"redis", "7.0.15", script, false},
        {"redis", "8.2.1", script, false},
        {"redis", "8.4.0", {"DELEX", "a", "IFEQ", "me/1"}, true},
        {"valkey", "8.0.2", script, false},
        {"valkey", "8.1.0", script, true},
        {"valkey", "9.0.1", {"DELIFEQ", "a", "me/1"}, true},
        {"valkey", "10.0.0", {"DELIFEQ", "a", "me/1"}, true},
        {"other", "9.9.9", script, false},
        {"redis", "", script, false},
    }));
    CAPTURE(server, version);
    RequestsSetting setting(server, version);
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    auto const released = setting.ask(&Backend::release, ReleaseRequest{setting.held("a"), limit, false});
    setting.runtime->run_ready();
    CHECK(setting.words(0) == release);
    auto const renewed = renew_one(*setting.backend, RenewRequest{setting.held("a"), 3s, limit});
    setting.runtime->run_ready();
    if (native_renewal)
        CHECK(setting.words(1) == Words{"SET", "a", "me/1", "IFEQ", "me/1", "PX", "3000"});
    else
        CHECK(setting.words(1).at(0) == "EVALSHA");
    // with notifications it is the script everywhere
    static_cast<void>(setting.ask(&Backend::release, ReleaseRequest{setting.held("a"), limit, true}));
    setting.runtime->run_ready();
    CHECK(setting.words(2) == release_with_line);

    if (release.front() != "EVALSHA") {
        setting.connection().answer(Value::integer(0));
        CHECK(std::holds_alternative<NotOwner>(released->value()));
        setting.connection().answer(Value());
        CHECK(std::holds_alternative<NotOwner>(renewed->value()));
    }
}

TEST_CASE("a native command that is refused is left alone for the rest of the connection", "[redis][requests]")
{
    RequestsSetting setting("valkey", "9.0.0");
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    auto const release = [&] {
        auto const reply = setting.ask(&Backend::release, ReleaseRequest{setting.held("a"), limit, false});
        setting.runtime->run_ready();
        return reply;
    };
    auto const first = release();
    setting.connection().answer(Value::error("NOPERM this user has no permissions to run the 'delifeq' command"));
    CHECK_FALSE(first->has_value());
    CHECK(setting.words(1).at(0) == "EVALSHA");
    setting.connection().answer(Value::text("1"));
    CHECK(std::holds_alternative<Released>(first->value()));
    static_cast<void>(release());
    CHECK(setting.words(2).at(0) == "EVALSHA");

    setting.connection().become(ConnectionState::ready);
    static_cast<void>(release());
    CHECK(setting.words(3).at(0) == "DELIFEQ");
}

TEST_CASE("publishing is not asked for again on a connection where it was refused", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    auto const refusal = [] {
        return list(
            {Value::text("1\n!NOPERM this user has no permissions to access one of the channels"), Value::text("1")});
    };
    CHECK(setting.keys_of_release(limit) == "3");
    setting.connection().answer(refusal());
    CHECK(setting.runtime->logged("may not announce releases on {a}:free") == 1);
    CHECK(setting.keys_of_release(limit) == "1");
    setting.connection().answer(Value::text("1"));
    setting.connection().become(ConnectionState::ready);
    CHECK(setting.keys_of_release(limit) == "3");
    setting.connection().answer(refusal());
    CHECK(setting.runtime->logged("may not announce releases") == 1);
}

TEST_CASE("a release says whether it named another store", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    std::vector<std::shared_ptr<std::optional<ReleaseReply>>> replies;
    for (auto const* const key : {"a", "b", "c", "d"})
        replies.push_back(setting.ask(&Backend::release, ReleaseRequest{setting.held(key), limit, true}));
    setting.runtime->run_ready();
    // the first left at once, the others together
    REQUIRE(setting.connection().sent.size() == 2);
    CHECK(
        setting.words(1) == Words{
                                "EVALSHA", redis::scripts::release_each().everywhere.sha, "9", "{b}:waiting",
                                "{b}:watched", "{c}:waiting", "{c}:watched", "{d}:waiting", "{d}:watched", "b", "c",
                                "d", "+", "me/1", "me/1", "me/1", "1", "1", "1"});
    Value const name = Value::text(std::string(32, 'a'));
    setting.connection().answer(list({Value::text("1"), name}));
    setting.connection().answer(list({Value::text("101"), Value::text("1"), Value::text(""), name}));
    CHECK(std::get<Released>(replies[0]->value()).named_another);
    CHECK_FALSE(std::get<Released>(replies[1]->value()).named_another);
    CHECK(std::holds_alternative<NotOwner>(replies[2]->value()));
    CHECK(std::get<Released>(replies[3]->value()).named_another);
}

TEST_CASE("where the line is refused, releases announce blindly for the rest of the connection", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const limit = setting.runtime->now() + 5s;
    auto const keys_of_withdrawal = [&] {
        static_cast<void>(setting.ask(&Backend::withdraw, WithdrawRequest{named_key("a"), "me/1", limit, true}));
        return setting.connection().sent.back().words.at(2);
    };
    auto const noted = [](std::string const& note) { return list({Value::text("1\n?" + note), Value::text("1")}); };
    auto const refusal = noted("NOPERM this user has no permissions to run the 'lpop' command");
    auto const is_announced = [&] {
        CHECK(setting.connection().sent.back().words == Words{"PUBLISH", "{a}:free", "1"});
        setting.connection().answer(Value::integer(0));
    };
    CHECK(setting.keys_of_release(limit) == "3");
    // another program's key, a slot on the move: this release alone
    setting.connection().answer(noted("WRONGTYPE Operation against a key holding the wrong kind of value"));
    CHECK(keys_of_withdrawal() == "3");
    setting.connection().answer(refusal);
    CHECK(setting.runtime->logged("may not use the line of waiters {a}:waiting") == 1);
    CHECK(setting.runtime->logged("~{a}:waiting and ~{a}:watched (NOPERM this user") == 1);
    CHECK(setting.keys_of_release(limit) == "1");
    setting.connection().answer(Value::text("1"));
    is_announced();
    CHECK(keys_of_withdrawal() == "1");
    setting.connection().answer(Value::text("1"));
    is_announced();
    setting.backend->leave_line(named_key("a"));
    CHECK(setting.connection().unanswered() == 0);

    setting.connection().become(ConnectionState::ready);
    CHECK(setting.keys_of_release(limit) == "3");
    setting.connection().answer(refusal);
    CHECK(setting.runtime->logged("may not use the line of waiters") == 1);
}

TEST_CASE("leaving the line takes the store's name out, and only while connected", "[redis][requests]")
{
    RequestsSetting setting;
    REQUIRE(setting.backend->capabilities().keeps_line);
    REQUIRE(setting.backend->capabilities().frees_silently);
    setting.backend->leave_line(named_key("a"));
    CHECK(setting.connections.made.empty());
    setting.connect();
    static_cast<void>(
        setting.ask(&Backend::release, ReleaseRequest{setting.held("a"), setting.runtime->now() + 5s, true}));
    setting.backend->leave_line(named_key("a"));
    auto const words = setting.words(1);
    CHECK(Words(words.begin(), words.begin() + 3) == Words{"LREM", "{a}:waiting", "0"});
    CHECK(words.at(3).size() == 32);
    CHECK(setting.connection().sent.at(1).not_after.at() == setting.runtime->now() + 1s);
    setting.connection().answer(Value::text("1"));
    SECTION("another error is nobody's business")
    {
        setting.connection().answer(Value::error("WRONGTYPE Operation against a key holding the wrong kind of value"));
        setting.backend->leave_line(named_key("a"));
        CHECK(setting.connection().unanswered() == 1);
    }
    SECTION("a refusal is remembered")
    {
        setting.connection().answer(Value::error("NOPERM this user has no permissions to run the 'lrem' command"));
        CHECK(setting.runtime->logged("may not use the line of waiters {a}:waiting") == 1);
        setting.backend->leave_line(named_key("a"));
        CHECK(setting.connection().unanswered() == 0);
    }
    SECTION("nothing is written to a server that is away")
    {
        setting.connection().answer(Value::integer(1));
        setting.connection().become(ConnectionState::backing_off);
        setting.backend->leave_line(named_key("a"));
        CHECK(setting.connection().unanswered() == 0);
    }
}

TEST_CASE("all of a store's connections carry one name, and no other store has it", "[redis][requests]")
{
    auto const runtime = std::make_shared<FakeRuntime>();
    auto const one = redis::make_waiter_name(*runtime);
    auto const two = redis::make_waiter_name(*runtime);
    CHECK(one.size() == 32);
    CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(one != two);
}

TEST_CASE("shutting down ends all that is under way and keeps nothing alive", "[redis][requests]")
{
    auto setting = std::make_unique<RequestsSetting>();
    setting->connect();
    auto const limit = setting->runtime->now() + 5s;
    auto const written = setting->ask(&Backend::claim, setting->claim_of(numbered_keys("p", 2), true));
    auto const renewal = renew_one(*setting->backend, RenewRequest{setting->held("a"), 3s, limit});
    auto const release = setting->ask(&Backend::release, ReleaseRequest{setting->held("b"), limit, true});
    std::weak_ptr<FakeConnection> const connection = setting->connections.made.front();
    setting->backend->shutdown();
    setting->runtime->run_ready();
    CHECK(failed_as(written->value(), Failure::Effect::unknown));
    CHECK(failed_as(renewal->value(), Failure::Effect::not_sent));
    // it had left at once
    CHECK(failed_as(release->value(), Failure::Effect::unknown));
    CHECK(setting->runtime->timers() == 0);
    setting->connections.made.clear();
    CHECK(connection.expired());
}

TEST_CASE("dropping the backend is shutting it down", "[redis][requests]")
{
    RequestsSetting setting;
    setting.connect();
    auto const written = setting.ask(&Backend::claim, setting.claim_of(numbered_keys("p", 2), true));
    std::weak_ptr<Backend> const gone = setting.backend;
    setting.backend.reset();
    CHECK(gone.expired());
    CHECK(setting.connection().closed);
    setting.runtime->run_ready();
    CHECK(failed_as(written->value(), Failure::Effect::unknown));
    setting.backend = redis::make_backend(setting.runtime, setting.connections.factory(), {.name = "again"});
}
