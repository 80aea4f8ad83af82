// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims of single keys with fencing: what is sent, and what becomes of the answers.
#include "claim_fixture.hpp"
#include "harness/expect_failure.hpp"

#include "store/redis/scripts/scripts.hpp"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <atomic>

namespace tenure::test
{

using Catch::Matchers::ContainsSubstring;
using redis::ConnectionState;

namespace
{

auto const no_script = Value::error("NOSCRIPT No matching script. Please use EVAL.");
auto const wrong_type = Value::error("WRONGTYPE Operation against a key holding the wrong kind of value");

} // namespace

TEST_CASE("a claim with fencing is a transaction: the SET, and a draw from the one counter", "[redis][claims]")
{
    ConnectedClaims test;
    auto const reply = test.claim("job");
    CHECK(
        test.words(0) == Words{
                             "MULTI", "SET", "job", "me/1", "NX", "PX", "3000", "EVALSHA", redis::scripts::draw().sha,
                             "1", "tenure:fence", "EXEC"});
    auto const since = test.connection().sent[0].since;
    test.runtime->run_for(5ms);
    test.answer(test.executed({Value::status("OK")}));
    auto const granted = std::get<Granted>(reply->value());
    CHECK(granted.fencing_token == 1'700'000'000'000'000U);
    CHECK(granted.ttl == 3s);
    CHECK(granted.since == since);
}

TEST_CASE("the first claim leaves at once, the rest of its turn together, each with its own ttl", "[redis][claims]")
{
    ConnectedClaims test;
    auto const first = test.claim("a");
    CHECK(test.connection().sent.size() == 1);
    auto other = test.request_for(named_key("b"), "me/2");
    other.ttl = 5s;
    auto const second = test.claim(other);
    auto const third = test.claim("c");
    CHECK(test.connection().sent.size() == 1);
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 2);
    CHECK(
        test.words(1) == Words{
                             "MULTI", "SET", "b", "me/2", "NX", "PX", "5000", "SET", "c", "me/1", "NX", "PX", "3000",
                             "EVALSHA", redis::scripts::draw().sha, "1", "tenure:fence", "EXEC"});
    test.answer(test.executed({Value::status("OK")}));
    CHECK(first->has_value());
    CHECK_FALSE(second->has_value());
    test.answer(test.executed({Value::status("OK"), Value::status("OK")}, Value::text("1700000000000001")));
    CHECK(std::get<Granted>(second->value()).ttl == 5s);
    CHECK(std::get<Granted>(second->value()).fencing_token == 1'700'000'000'000'001U);
    CHECK(std::get<Granted>(third->value()).fencing_token == 1'700'000'000'000'001U);
}

TEST_CASE("claims in company leave together, the first of them too", "[redis][claims]")
{
    ConnectedClaims test;
    bool const fencing = GENERATE(true, false);
    CAPTURE(fencing);
    for (auto const* const key : {"a", "b"}) {
        auto request = test.request_for(named_key(key));
        request.fencing = fencing;
        request.with_others = true;
        (void)test.claim(std::move(request));
    }
    // a request that leaves with the next is not written before the turn is over
    CHECK(test.connection().sent.size() == (fencing ? 0 : 2));
    for (auto const& sent : test.connection().sent)
        CHECK(sent.with_next);
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == (fencing ? 1 : 2));
    if (fencing)
        CHECK(
            test.words(0) == Words{
                                 "MULTI", "SET", "a", "me/1", "NX", "PX", "3000", "SET", "b", "me/1", "NX", "PX",
                                 "3000", "EVALSHA", redis::scripts::draw().sha, "1", "tenure:fence", "EXEC"});
}

TEST_CASE("a transaction claims 32 keys at most", "[redis][claims]")
{
    ConnectedClaims test;
    (void)test.occupy();
    for (int i = 0; i < 40; ++i)
        (void)test.claim("key" + std::to_string(i));
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 3);
    CHECK(test.words(1).size() == 6 + 32 * 6);
    CHECK(test.words(2).size() == 6 + 8 * 6);
}

TEST_CASE("a claim that waits for a connection keeps its own time limit, and joins no transaction", "[redis][claims]")
{
    ConnectedClaims test;
    (void)test.occupy();
    test.connection().become(ConnectionState::backing_off);
    auto const now = test.runtime->now();
    for (int i = 1; i <= 2; ++i) {
        auto request = test.request_for(named_key("a"));
        request.not_after = now + i * 1s;
        (void)test.claim(std::move(request));
    }
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 3);
    CHECK(test.connection().sent[1].not_after.at() == now + 1s);
    CHECK(test.connection().sent[2].not_after.at() == now + 2s);
}

TEST_CASE("a claim whose owner has given up before it was written is left out", "[redis][claims]")
{
    ConnectedClaims test;
    (void)test.occupy();
    auto const mark = std::make_shared<RequestMark>();
    auto request = test.request_for(named_key("a"));
    request.not_after = {test.runtime->now() + 1s, mark};
    auto const given_up = test.claim(std::move(request));
    auto const wanted = test.claim("b");
    mark->ended = true;
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 2);
    CHECK(test.words(1).at(2) == "b");
    CHECK(std::get<Failure>(given_up->value()).was_dropped());
    CHECK(mark->progressed == Instant{});
    test.answer(test.executed({Value::status("OK")}));
    test.answer(test.executed({Value::status("OK")}));
    CHECK(std::holds_alternative<Granted>(wanted->value()));
}

TEST_CASE("each claim of a call notes when the call was written", "[redis][claims]")
{
    ConnectedClaims test;
    (void)test.occupy();
    std::vector<std::shared_ptr<RequestMark>> marks;
    for (auto const* const key : {"a", "b"}) {
        auto request = test.request_for(named_key(key));
        request.not_after = {test.runtime->now() + 1s, marks.emplace_back(std::make_shared<RequestMark>())};
        (void)test.claim(std::move(request));
        CHECK(marks.back()->progressed == Instant{});
    }
    test.runtime->run_ready();
    for (auto const& mark : marks)
        CHECK(mark->progressed == test.runtime->now());
}

TEST_CASE("more claims than keep the server busy wait for their turn, and still leave together", "[redis][claims]")
{
    constexpr std::size_t more = 40;
    ConnectedClaims test;
    std::vector<ClaimFixture::ReplyPtr> replies;
    for (std::size_t i = 0; i < redis::HedgedLink::most_claims + more; ++i)
        replies.push_back(test.claim("key:" + std::to_string(i)));
    test.runtime->run_ready();
    CHECK(test.link->claims()->begun() == redis::HedgedLink::most_claims);
    CHECK(test.link->claims()->waiting() == more);
    auto const calls = test.connection().sent.size();
    // one alone, and the others by 32
    CHECK(calls <= redis::HedgedLink::most_claims / 32 + 2);
    CHECK(test.words(1).size() == 6 + 32 * 6);

    SECTION("an answered call lets as many begin, in one call")
    {
        test.answer(test.executed({Value::status("OK")}));
        test.answer(test.executed(std::vector<Value>(32, Value::status("OK"))));
        CHECK(std::holds_alternative<Granted>(replies[32]->value()));
        CHECK(test.link->claims()->waiting() == more - 33);
        REQUIRE(test.connection().sent.size() >= calls + 1);
        CHECK(test.words(test.connection().sent.size() - 1).size() > 6 + 30 * 6);
    }
    SECTION("a second connection beside a silent one has a window of its own")
    {
        test.runtime->run_for(1600ms);
        REQUIRE(test.connections.made.size() == 2);
        CHECK(test.link->claims()->waiting() == 0);
        CHECK_FALSE(test.connections.made[1]->sent.empty());
    }
    SECTION("without a connection a claim ends with the reason, and not with the number of claims ahead of it")
    {
        test.connection().become(ConnectionState::backing_off);
        test.runtime->run_for(11s);
        CHECK(expect_not_sent(replies.back()->value()).detail.find("not connected") != std::string::npos);
    }
}

TEST_CASE("a claim that has begun goes before new ones", "[redis][claims]")
{
    ConnectedClaims test;
    auto const reply = test.claim("held");
    test.runtime->run_ready();
    CHECK(test.connection().sent.back().urgency == redis::resp::Urgency::first);
    test.answer(test.executed({Value()}));
    REQUIRE(test.connection().sent.size() == 2);
    CHECK(test.connection().sent.back().urgency == redis::resp::Urgency::step);
}

TEST_CASE("one held key among several is surveyed, and the others are granted", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [free, held] = test.claim_together("a", "b");
    test.answer(test.executed({Value::status("OK"), Value()}));
    CHECK(std::get<Granted>(free->value()).fencing_token == 1'700'000'000'000'000U);
    CHECK_FALSE(held->has_value());
    auto const survey = test.connection().sent.back().words;
    CHECK(survey.at(1) == redis::scripts::survey().sha);
    CHECK(survey.at(3) == "b");
    test.answer(test.held_for_700ms());
    CHECK(std::get<Busy>(held->value()).earliest_expiry == 700ms);
}

TEST_CASE("a claim that a release had named asks by SET, and if that fails joins the line in front", "[redis][claims]")
{
    ConnectedClaims test;
    bool const fencing = GENERATE(true, false);
    auto request = test.request_for(named_key("job"));
    request.fencing = fencing;
    request.waits = Waits::in_front;
    auto const reply = test.claim(std::move(request));
    CHECK(test.words(0).at(0) == (fencing ? "MULTI" : "SET"));
    test.answer(fencing ? test.executed({Value()}) : Value());
    auto const words = test.words(1);
    CHECK(words.at(1) == redis::scripts::first_free().sha);
    CHECK(
        Words(words.end() - 8, words.end()) ==
        Words{"{job}:waiting", "job", "me/1", "3000", "1", fencing ? "1" : "", test.node->waiter(), "1"});
    CHECK(words.at(3) == (fencing ? "tenure:fence" : "{job}:waiting"));
    SECTION("held by then, too")
    {
        test.answer(test.held_for_700ms());
        CHECK(std::get<Busy>(reply->value()).earliest_expiry == 700ms);
    }
    SECTION("or freed meanwhile")
    {
        test.answer(test.array({Value::integer(0), Value::text(fencing ? "1700000000000002" : "")}));
        CHECK(std::get<Granted>(reply->value()).fencing_token == (fencing ? 1'700'000'000'000'002U : 0U));
    }
}

TEST_CASE("a claim that waits in line is the script at once, which takes the key or a place", "[redis][claims]")
{
    ConnectedClaims test;
    auto request = test.request_for(named_key("job"));
    request.fencing = GENERATE(true, false);
    request.waits = Waits::in_line;
    auto const reply = test.claim(request);
    CHECK(test.words(0).at(1) == redis::scripts::first_free().sha);
    auto const declares_line = [&test](std::size_t sent) {
        auto const words = test.words(sent);
        return std::ranges::find(words, "{job}:waiting") != words.end();
    };
    CHECK(declares_line(0));
    CHECK(test.words(0).back().empty());
    SECTION("a place that is refused is not asked for again on this connection")
    {
        test.answer(test.array(
            {Value::integer(-1), Value::integer(700), Value::integer(0),
             Value::text("NOPERM this user has no permissions to run the 'lpos' command")}));
        CHECK(std::get<Busy>(reply->value()).earliest_expiry == 700ms);
        CHECK(test.runtime->logged("may not use the line of waiters {job}:waiting") == 1);
        auto const again = test.claim(request);
        CHECK_FALSE(declares_line(1));
        test.connection().become(ConnectionState::ready);
        auto const later = test.claim(request);
        CHECK(declares_line(2));
    }
    SECTION("one that is missed for a moment, or at this line alone, is")
    {
        auto const* const why = GENERATE("OOM command not allowed", "WRONGTYPE Operation against a key");
        test.answer(test.array({Value::integer(-1), Value::integer(700), Value::integer(0), Value::text(why)}));
        CHECK(std::holds_alternative<Busy>(reply->value()));
        auto const again = test.claim(request);
        CHECK(declares_line(1));
    }
}

TEST_CASE("where the server has forgotten the draw, it is sent anew while the keys are held", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [first, second] = test.claim_together("a", "b");
    auto const since = test.connection().sent[1].since;
    test.runtime->run_for(5ms);
    test.answer(test.executed({Value::status("OK"), Value::status("OK")}, no_script));
    CHECK_FALSE(first->has_value());
    auto const words = test.words(2);
    REQUIRE(words.size() == 8);
    CHECK(
        Words(words.begin(), words.begin() + 6) ==
        Words{"EVAL", redis::scripts::draw().text, "3", "tenure:fence", "a", "b"});
    SECTION("and they are granted")
    {
        test.answer(Value::text("1700000000000007"));
        for (auto const& reply : {first, second}) {
            CHECK(std::get<Granted>(reply->value()).fencing_token == 1'700'000'000'000'007U);
            CHECK(std::get<Granted>(reply->value()).since == since);
        }
    }
    SECTION("or given back, where one of them is not ours any more")
    {
        test.answer(Value::text(""));
        for (auto const& reply : {first, second}) {
            CHECK(std::get<Unconfirmed>(reply->value()).error == errc::store_unavailable);
            CHECK_FALSE(std::get<Unconfirmed>(reply->value()).fatal);
        }
    }
    SECTION("or given back, where that fails")
    {
        test.answer(wrong_type);
        for (auto const& reply : {first, second})
            CHECK(std::get<Unconfirmed>(reply->value()).error == errc::key_conflict);
    }
    SECTION("or given back, where another connection answers: what it reached may be another server")
    {
        test.connection().become(ConnectionState::ready);
        test.answer(Value::text("1700000000000007"));
        for (auto const& reply : {first, second})
            CHECK(std::get<Unconfirmed>(reply->value()).error == errc::store_unavailable);
    }
    SECTION("or given back, where no answer comes")
    {
        test.link->close();
        test.runtime->run_ready();
        for (auto const& reply : {first, second}) {
            auto const& unconfirmed = std::get<Unconfirmed>(reply->value());
            CHECK(unconfirmed.error == errc::closed);
            CHECK_THAT(unconfirmed.detail, ContainsSubstring("no fencing token"));
        }
    }
}

TEST_CASE("a script that is not known costs nothing where no key was granted", "[redis][claims]")
{
    ConnectedClaims test;
    auto const reply = test.claim("a");
    test.answer(test.executed({Value()}, GENERATE(no_script, wrong_type, Value())));
    CHECK(test.words(1).at(1) == redis::scripts::survey().sha);
    test.answer(test.held_for_700ms());
    CHECK(std::holds_alternative<Busy>(reply->value()));
    CHECK(test.connection().sent.size() == 2);
}

TEST_CASE("keys without a token are given back, all of them, with what to do", "[redis][claims]")
{
    struct Case {
        Value drawn;
        errc error;
        bool fatal;
        std::string advice;
    };
    auto const [drawn, error, fatal, advice] = GENERATE(values<Case>({
        {wrong_type, errc::key_conflict, true, "delete that key"},
        {Value::error("ERR value is not an integer or out of range"), errc::key_conflict, true, "delete that key"},
        {Value::error("OOM command not allowed when used memory > 'maxmemory'."), errc::store_refused, false, "OOM"},
        {Value::error("NOPERM this user has no permissions to access one of the keys used as arguments"),
         errc::permission_denied, true, "~tenure:fence"},
        {Value::error("NOPERM this user has no permissions to run the 'evalsha' command"), errc::permission_denied,
         true, "+evalsha"},
        {Value::integer(17), errc::protocol_error, false, "malformed reply"},
        {Value(), errc::protocol_error, false, "malformed reply"},
        {Value::text("0"), errc::protocol_error, false, "malformed reply"},
        {Value::text("17x"), errc::protocol_error, false, "malformed reply"},
    }));
    CAPTURE(advice);
    ConnectedClaims test;
    auto const [first, held, second] = test.claim_together("a", "b", "c");
    auto const since = test.connection().sent[1].since;
    test.answer(test.executed({Value::status("OK"), Value(), Value::status("OK")}, drawn));
    for (auto const& reply : {first, second}) {
        auto const& unconfirmed = std::get<Unconfirmed>(reply->value());
        CHECK(unconfirmed.error == error);
        CHECK(unconfirmed.fatal == fatal);
        CHECK(unconfirmed.grant.fencing_token == 0);
        CHECK(unconfirmed.grant.since == since);
        CHECK_THAT(unconfirmed.detail, ContainsSubstring("redis://fake:6379/0: tenure:fence: "));
        CHECK_THAT(unconfirmed.detail, ContainsSubstring(advice));
    }
    CHECK(test.connection().invalidated == (error == errc::protocol_error));
    test.answer(test.held_for_700ms());
    CHECK(std::holds_alternative<Busy>(held->value()));
}

TEST_CASE("where MULTI is refused, what was taken is given back, and no claim ends but by the rule", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [taken, held] = test.claim_together("a", "b");
    test.answer(
        test.array(
            {Value::error("NOPERM this user has no permissions to run the 'multi' command"), Value::status("OK"),
             Value(), Value::text("1700000000000000")}),
        true);
    auto const& unconfirmed = std::get<Unconfirmed>(taken->value());
    CHECK(unconfirmed.error == errc::permission_denied);
    CHECK(unconfirmed.fatal);
    CHECK_THAT(unconfirmed.detail, ContainsSubstring("+multi +exec"));
    auto const& refused = expect_refused(held->value());
    CHECK(refused.error == errc::permission_denied);
    CHECK(refused.fatal);
    CHECK_THAT(refused.detail, ContainsSubstring("redis://fake:6379/0: b: "));
    CHECK_THAT(refused.detail, ContainsSubstring("+multi +exec"));
}

TEST_CASE("where a proxy has no MULTI, keys that were taken get their token by a script", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [taken, held] = test.claim_together("a", "b");
    test.answer(
        test.array(
            {Value::error("ERR unsupported command 'MULTI'"), Value::status("OK"), Value(),
             Value::text("1700000000000000")}),
        true);
    auto const words = test.words(2);
    REQUIRE(words.size() == 6);
    CHECK(
        Words(words.begin(), words.begin() + 5) ==
        Words{"EVAL", redis::scripts::draw().text, "2", "tenure:fence", "a"});
    test.answer(Value::text("1700000000000009"));
    CHECK(std::get<Granted>(taken->value()).fencing_token == 1'700'000'000'000'009U);
    CHECK(test.words(3).at(1) == redis::scripts::survey().sha);
    test.answer(test.held_for_700ms());
    CHECK(std::holds_alternative<Busy>(held->value()));
    CHECK(test.runtime->logged("does not run the transactions of claims") == 1);

    // and later claims are scripts, until the next login
    auto const later = test.claim("c");
    test.runtime->run_ready();
    CHECK(test.words(4).at(1) == redis::scripts::first_free().sha);
    test.answer(test.array({Value::integer(0), Value::text("1700000000000010")}));
    CHECK(std::get<Granted>(later->value()).fencing_token == 1'700'000'000'000'010U);
    test.connection().become(ConnectionState::ready);
    (void)test.claim("d");
    test.runtime->run_ready();
    CHECK(test.words(5).at(0) == "MULTI");
}

TEST_CASE("where EXEC or EVALSHA is not available, nothing ran, and a script claims each key", "[redis][claims]")
{
    auto const* const refusal = GENERATE("ERR unknown command 'EXEC'", "ERR unknown command 'EVALSHA'");
    CAPTURE(refusal);
    ConnectedClaims test;
    auto const [first, second] = test.claim_together("a", "b");
    test.answer(Value::error(refusal));
    REQUIRE(test.connection().unanswered() == 2);
    CHECK(test.words(2).at(0) == "EVALSHA");
    CHECK(test.words(2).at(4) == "a");
    CHECK(test.words(3).at(4) == "b");
    // the script by its name is refused as well
    test.answer(Value::error("ERR unknown command 'EVALSHA'"));
    CHECK(test.words(4).at(0) == "EVAL");
    test.answer(test.array({Value::integer(0), Value::text("1700000000000002")}));
    test.answer(test.array({Value::integer(0), Value::text("1700000000000003")}));
    CHECK(std::holds_alternative<Granted>(first->value()));
    CHECK(std::holds_alternative<Granted>(second->value()));
}

TEST_CASE("a draw that a proxy refuses by its name is sent by its text", "[redis][claims]")
{
    ConnectedClaims test;
    auto const reply = test.claim("a");
    test.answer(test.executed({Value::status("OK")}, Value::error("ERR unsupported command 'EVALSHA'")));
    CHECK(test.words(1).at(0) == "EVAL");
    test.answer(Value::text("1700000000000007"));
    CHECK(std::get<Granted>(reply->value()).fencing_token == 1'700'000'000'000'007U);
}

TEST_CASE("where no script runs at all the claim ends for good, and is not sent again", "[redis][claims]")
{
    ConnectedClaims test;
    auto const reply = test.claim("a");
    test.answer(Value::error("ERR unknown command 'EVALSHA'"));
    test.answer(Value::error("ERR unknown command 'EVALSHA'"));
    test.answer(Value::error("ERR unknown command 'EVAL'"));
    auto const& refused = expect_refused(reply->value());
    CHECK(refused.error == errc::wrong_server);
    CHECK(refused.fatal);
    CHECK_THAT(refused.detail, ContainsSubstring("this server or proxy refuses scripts"));
    CHECK(test.connection().unanswered() == 0);
}

TEST_CASE("a transaction of several that did not run is asked for key by key", "[redis][claims]")
{
    auto const error = GENERATE(
        Value::error("NOPERM this user has no permissions to access one of the keys used as arguments"),
        Value::error("TRYAGAIN Multiple keys request during rehashing of slot"));
    ConnectedClaims test;
    auto const [good, bad, late] = test.claim_together("a", "b", "c");
    test.answer(error);
    REQUIRE(test.connection().unanswered() == 3);
    CHECK(test.words(2).size() == 12);
    CHECK(test.words(2).at(2) == "a");
    CHECK(test.words(3).at(2) == "b");
    test.answer(test.executed({Value::status("OK")}));
    test.answer(error);
    CHECK(std::holds_alternative<Granted>(good->value()));
    CHECK(failed_as(bad->value(), Failure::Effect::refused));
    CHECK(test.connection().unanswered() == 1);
    CHECK_FALSE(late->has_value());
}

TEST_CASE("an error about the server is the answer to all claims of the transaction", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [first, second] = test.claim_together("a", "b");
    test.answer(Value::error("OOM command not allowed when used memory > 'maxmemory'."));
    CHECK(test.connection().unanswered() == 0);
    for (auto const& reply : {first, second}) {
        CHECK(expect_refused(reply->value()).error == errc::store_refused);
        CHECK_FALSE(expect_refused(reply->value()).fatal);
    }
}

TEST_CASE("a key that is refused within a transaction costs the others nothing", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [good, bad] = test.claim_together("a", "b");
    test.answer(test.executed({Value::status("OK"), Value::error("OOM no")}));
    CHECK(std::holds_alternative<Granted>(good->value()));
    CHECK(expect_refused(bad->value()).error == errc::store_refused);
}

TEST_CASE("a lost transaction leaves each of its claims in doubt", "[redis][claims]")
{
    ConnectedClaims test;
    auto const under_way = test.occupy();
    auto const first = test.claim("a");
    auto const second = test.claim("b");
    test.runtime->run_ready();
    test.link->close();
    test.runtime->run_ready();
    for (auto const& reply : {under_way, first, second})
        CHECK(failed_as(reply->value(), Failure::Effect::unknown));
}

TEST_CASE("an answer to a SET that makes no sense leaves all in doubt, whatever was drawn", "[redis][claims]")
{
    ConnectedClaims test;
    auto const [first, second] = test.claim_together("a", "b");
    test.answer(test.executed({Value::status("OK"), GENERATE(Value::integer(1), Value::status("QUEUED"))}));
    for (auto const& reply : {first, second})
        CHECK(expect_unknown(reply->value()).error == errc::protocol_error);
    CHECK(test.connection().invalidated);
}

TEST_CASE("claims that were not written together are sent alone while their time lasts", "[redis][claims]")
{
    ConnectedClaims test;
    (void)test.occupy();
    (void)test.claim("a");
    (void)test.claim("b");
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 2);
    auto dropped = std::move(test.connection().sent[1].handler);
    test.connection().sent[1].open = false;
    std::move(dropped)(redis::Outcome{});
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 4);
    CHECK(test.words(2).at(2) == "a");
    CHECK(test.words(3).at(2) == "b");
}

TEST_CASE("later attempts and claims without fencing are no transactions", "[redis][claims]")
{
    ConnectedClaims test;
    auto later = test.request_for(named_key("job"));
    later.earliest_attempt = test.runtime->now();
    (void)test.claim(later);
    CHECK(test.words(0).at(1) == redis::scripts::own_or_first_free().sha);
    CHECK(test.words(0).at(3) == "tenure:fence");
    auto plain = test.request_for(named_key("job"));
    plain.fencing = false;
    (void)test.claim(plain);
    CHECK(test.words(1) == Words{"SET", "job", "me/1", "NX", "PX", "3000"});
}

} // namespace tenure::test
