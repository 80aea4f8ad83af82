// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Answers about a preferred slot that are lost, late or of no use.
#include "unit/engine/preferring.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

Failure broken_connection()
{
    return Failure::unknown(make_error_code(errc::store_unavailable), "the connection broke");
}

} // namespace

TEST_CASE("a preferred slot whose answer is lost is asked for again under the same owner, which is searched for")
{
    Preferring test;
    test.start();
    auto const began = test.runtime->now();
    auto const first = test.answer_claim(broken_connection());
    test.runtime->run_for(200ms);
    SECTION("it was granted")
    {
        auto const second = test.answer_claim(test.grant(3s));
        test.check_asks_for_preferred(second);
        CHECK(second.owner == first.owner);
        CHECK(second.earliest_attempt == began);
        REQUIRE(test.attempt.error == error_code());
        CHECK(test.attempt.holding.id() == 5);
    }
    SECTION("another holds it: the lost claim may still come to the store, and is withdrawn with the lease")
    {
        (void)test.answer_claim(Busy{});
        auto const third = test.answer_claim(test.grant(3s, 1));
        test.check_asks_for_all(third);
        CHECK(third.owner == first.owner);
        CHECK(third.earliest_attempt == began);
        REQUIRE(test.attempt.error == error_code());
        test.attempt.holding = Slot();
        test.runtime->run_ready();
        CHECK(test.given_back() == "thread_id_lock:1");
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.backend->withdrawals.front().request.owner == first.owner);
        CHECK(*test.backend->withdrawals.front().request.range == *test.pool.range());
    }
    SECTION("it is cancelled meanwhile: its owner is withdrawn")
    {
        test.cancel();
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.backend->withdrawals.front().request.owner == first.owner);
    }
}

TEST_CASE("a grant of the preferred slot that comes too late for its caller is given back")
{
    Preferring test;
    test.start();
    SECTION("cancelled while the preferred slot is asked for")
    {
        test.cancel();
        (void)test.answer_claim(test.grant(3s));
        CHECK(test.given_back() == "thread_id_lock:5");
    }
    SECTION("cancelled while the whole pool is asked")
    {
        (void)test.answer_claim(Busy{});
        test.cancel();
        (void)test.answer_claim(test.grant(3s, 2));
        CHECK(test.given_back() == "thread_id_lock:2");
    }
    SECTION("cancelled, and nobody knows what became of the claim")
    {
        test.cancel();
        auto const asked = test.answer_claim(broken_connection());
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.backend->withdrawals.front().request.owner == asked.owner);
    }
    SECTION("nothing is left of its ttl: another owner asks for it again")
    {
        auto late = test.grant(3s);
        late.since -= 3s;
        auto const first = test.answer_claim(late);
        CHECK(test.given_back() == "thread_id_lock:5");
        REQUIRE(test.runtime->run_while_not([&] { return !test.backend->claims.empty(); }, 1s));
        auto const second = test.answer_claim(test.grant(3s));
        test.check_asks_for_preferred(second);
        CHECK(second.owner != first.owner);
        REQUIRE(test.attempt.error == error_code());
        CHECK(test.attempt.holding.id() == 5);
    }
    SECTION("the store did not confirm it")
    {
        (void)test.answer_claim(
            Unconfirmed{test.grant(3s), make_error_code(errc::not_replicated), "1 of 2 have it", false});
        CHECK(test.given_back() == "thread_id_lock:5");
        CHECK_FALSE(test.attempt.error);
        test.cancel();
    }
}

TEST_CASE("of two claims for the preferred slot under way at a time, each answer counts once")
{
    Preferring test;
    test.start();
    // the first claim stays unanswered: it is asked again beside it
    test.runtime->run_for(1100ms);
    REQUIRE(test.backend->claims.size() == 2);
    auto late = std::move(test.backend->claims.front());
    test.backend->claims.pop_front();
    test.check_asks_for_preferred(test.answer_claim(Busy{}));
    REQUIRE(test.backend->claims.size() == 1);
    // the late one may still be granted: the owner is searched for
    CHECK(test.backend->claims.front().request.earliest_attempt);
    SECTION("a late refusal says nothing of the pool")
    {
        std::move(late.handler)(Busy{});
        test.runtime->run_ready();
        CHECK(test.backend->claims.size() == 1);
        test.check_asks_for_all(test.answer_claim(test.grant(3s, 1)));
        REQUIRE(test.attempt.error == error_code());
        CHECK(test.attempt.holding.id() == 1);
    }
    SECTION("a late grant becomes the lease, and the second key is given back")
    {
        std::move(late.handler)(test.grant(3s));
        test.runtime->run_ready();
        REQUIRE(test.attempt.error == error_code());
        CHECK(test.attempt.holding.id() == 5);
        (void)test.answer_claim(test.grant(3s, 1));
        CHECK(test.given_back() == "thread_id_lock:1");
        CHECK(test.attempt.holding.valid());
    }
    SECTION("a grant behind the lease is given back")
    {
        (void)test.answer_claim(test.grant(3s));
        REQUIRE(test.attempt.error == error_code());
        CHECK(test.attempt.holding.id() == 0);
        std::move(late.handler)(test.grant(3s));
        test.runtime->run_ready();
        CHECK(test.given_back() == "thread_id_lock:5");
        CHECK(test.attempt.holding.valid());
    }
}

TEST_CASE("where an owner may claim only once, the whole pool is asked by another owner")
{
    Preferring test;
    test.backend->owners_are_spent = true;
    test.start();
    SECTION("the preferred slot is held")
    {
        auto const first = test.answer_claim(Busy{});
        CHECK(test.backend->withdrawals.empty());
        auto const second = test.answer_claim(test.grant(3s, 2));
        test.check_asks_for_all(second);
        CHECK(second.owner != first.owner);
        CHECK_FALSE(second.earliest_attempt);
        CHECK(test.attempt.holding.id() == 2);
        CHECK(test.attempt.holding.owner() == second.owner);
    }
    SECTION("the preferred slot's answer is lost: its owner is withdrawn at once, and another asks for the slot")
    {
        auto const first = test.answer_claim(broken_connection());
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.backend->withdrawals.front().request.owner == first.owner);
        REQUIRE(test.runtime->run_while_not([&] { return !test.backend->claims.empty(); }, 1s));
        auto const second = test.answer_claim(test.grant(3s));
        test.check_asks_for_preferred(second);
        CHECK(second.owner != first.owner);
        CHECK(test.attempt.holding.id() == 5);
    }
}

} // namespace tenure::test
