// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims of one pool that are ready in one turn of the loop share a call.
#include "claim_fixture.hpp"
#include "harness/expect_failure.hpp"

#include "store/redis/scripts/scripts.hpp"

#include <catch2/generators/catch_generators.hpp>

namespace tenure::test
{

namespace
{

/** A call is under way, and in this turn several owners ask for a key of the pool. */
class PoolFixture : public ClaimFixture
{
public:
    explicit PoolFixture(bool delay_after_failover = false)
        : ClaimFixture(delay_after_failover)
    {
        first = claim(request_for(pool, "me/0"));
        runtime->run_ready();
        answer(array({Value::integer(0), Value::text("1700000000000000")}));
        connection().sent.clear();
        first = claim(request_for(pool, "me/0"));
        REQUIRE(connection().sent.size() == 1);
    }

    ReplyPtr ask(std::string owner, Waits waits = Waits::no)
    {
        auto request = request_for(pool, std::move(owner));
        request.waits = waits;
        return claim(std::move(request));
    }
    void answer_first() { answer(array({Value::integer(0), Value::text("1700000000000000")})); }

    KeyRangePtr pool = numbered_keys("p", 4);
    ReplyPtr first;
};

} // namespace

TEST_CASE("several owners get the first free keys of their pool in their order, with one token", "[redis][claims]")
{
    PoolFixture test;
    auto const a = test.ask("me/1");
    // an equal range is the same pool
    auto request = test.request_for(numbered_keys("p", 4), "me/2");
    auto const b = test.claim(std::move(request));
    auto const c = test.ask("me/3");
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 2);
    CHECK(
        test.words(1) == Words{
                             "EVALSHA", redis::scripts::first_free_each().sha, "5", "tenure:fence", "p0", "p1", "p2",
                             "p3", "me/1", "3000", "1", "1", "", "", "me/2", "me/3"});
    test.answer_first();
    SECTION("all of them")
    {
        test.answer(
            test.array({Value::text("1700000000000001"), Value::integer(0), Value::integer(2), Value::integer(3)}));
        CHECK(std::get<Granted>(a->value()).index == 0);
        CHECK(std::get<Granted>(b->value()).index == 2);
        CHECK(std::get<Granted>(c->value()).index == 3);
        for (auto const& reply : {a, b, c}) {
            CHECK(std::get<Granted>(reply->value()).fencing_token == 1'700'000'000'000'001U);
            CHECK(std::get<Granted>(reply->value()).since == test.connection().sent[1].since);
        }
    }
    SECTION("as many as there are")
    {
        test.answer(test.array(
            {Value::text("1700000000000001"), Value::integer(3), Value::integer(-1), Value::integer(700),
             Value::integer(0)}));
        CHECK(std::get<Granted>(a->value()).index == 3);
        CHECK(std::get<Busy>(b->value()).earliest_expiry == 700ms);
        CHECK(std::get<Busy>(c->value()).earliest_expiry == 700ms);
    }
    SECTION("none")
    {
        test.answer(test.array({Value::text(""), Value::integer(-1), Value::integer(-1), Value::integer(4)}));
        for (auto const& reply : {a, b, c})
            CHECK(std::get<Busy>(reply->value()).never_frees);
    }
    SECTION("an answer that makes no sense is nobody's")
    {
        test.answer(test.array({Value::text("1700000000000001"), Value::integer(1), Value::integer(0)}));
        for (auto const& reply : {a, b, c})
            CHECK(expect_unknown(reply->value()).error == errc::protocol_error);
        CHECK(test.connection().invalidated);
    }
    SECTION("a script that is not known is sent as text")
    {
        test.answer(Value::error("NOSCRIPT No matching script. Please use EVAL."));
        CHECK(test.words(2).at(1) == redis::scripts::first_free_each().text);
        CHECK(test.words(2).back() == "me/3");
    }
    SECTION("an error about one key: each looks for its own claim first, for some may have been taken")
    {
        test.answer(Value::error("NOPERM this user has no permissions to access one of the keys"));
        REQUIRE(test.connection().unanswered() == 3);
        CHECK(test.words(2).at(1) == redis::scripts::own_or_first_free().sha);
        CHECK(test.words(3).at(8) == "me/2");
    }
    SECTION("an error about the server is for all")
    {
        test.answer(Value::error("READONLY You can't write against a read only replica."));
        for (auto const& reply : {a, b, c})
            CHECK(expect_refused(reply->value()).error == errc::store_refused);
    }
    SECTION("no answer leaves all in doubt")
    {
        test.link->close();
        test.runtime->run_ready();
        for (auto const& reply : {a, b, c})
            CHECK(failed_as(reply->value(), Failure::Effect::unknown));
    }
}

TEST_CASE("only claims that want the same share a call", "[redis][claims]")
{
    PoolFixture test;
    (void)test.ask("me/1");
    auto const different = GENERATE(0, 1, 2, 3, 4);
    auto request = test.request_for(different == 0 ? numbered_keys("q", 4) : test.pool, "me/2");
    if (different == 1)
        request.ttl = 4s;
    if (different == 2)
        request.fencing = false;
    if (different == 3)
        request.waits = Waits::in_line;
    if (different == 4)
        request.reuse_after = 1s;
    (void)test.claim(std::move(request));
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 3);
    CHECK(test.words(1).at(1) == redis::scripts::first_free().sha);
    CHECK(test.words(2).at(1) == redis::scripts::first_free().sha);
}

TEST_CASE("a call is for 32 owners at most", "[redis][claims]")
{
    PoolFixture test;
    for (int i = 1; i <= 40; ++i)
        (void)test.ask("me/" + std::to_string(i));
    test.runtime->run_ready();
    REQUIRE(test.connection().sent.size() == 3);
    CHECK(test.words(1).back() == "me/32");
    CHECK(test.words(2).back() == "me/40");
}

TEST_CASE("a pool's waiters join its line once, however many get nothing", "[redis][claims]")
{
    PoolFixture test;
    auto const a = test.ask("me/1", Waits::in_line);
    auto const b = test.ask("me/2", Waits::in_line);
    test.runtime->run_ready();
    auto const words = test.words(1);
    CHECK(words.at(4) == "{p}:waiting");
    CHECK(words.at(13) == test.node->waiter());
    CHECK(words.back() == "me/2");
    test.answer_first();
    test.answer(test.array(
        {Value::text(""), Value::integer(-1), Value::integer(700), Value::integer(0),
         Value::text("NOPERM this user has no permissions to run the 'lpos' command")}));
    CHECK(std::get<Busy>(a->value()).earliest_expiry == 700ms);
    CHECK(std::get<Busy>(b->value()).earliest_expiry == 700ms);
    CHECK(test.runtime->logged("may not use the line of waiters {p}:waiting") == 1);
    CHECK_FALSE(test.node->may_line_up());
}

TEST_CASE("claims that are closed are closed for all owners", "[redis][claims]")
{
    PoolFixture test(true);
    auto const a = test.ask("me/1");
    auto const b = test.ask("me/2");
    test.runtime->run_ready();
    auto const words = test.words(1);
    CHECK(words.at(1) == redis::scripts::first_free_each_after_failover().sha);
    CHECK(words.at(words.size() - 2) == "me/2");
    CHECK(words.at(4) == "tenure:master");
    test.answer_first();
    test.answer(test.array({Value::integer(-2), Value::integer(900)}));
    CHECK(std::get<Busy>(a->value()).earliest_expiry == 900ms);
    CHECK(std::get<Busy>(b->value()).earliest_expiry == 900ms);
}

} // namespace tenure::test
