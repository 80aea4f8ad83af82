// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Acquisitions that try one slot of a pool before the others (`AcquireOptions::prefer`).
#include "harness/documented.hpp"
#include "unit/engine/preferring.hpp"

#include <tenure/errc.hpp>
#include <tenure/multi_lock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

// a temporary inside a co_await expression
static_assert(std::is_trivially_destructible_v<AcquireOptions> && std::is_aggregate_v<AcquireOptions>);

TEST_CASE("a preferred slot that is free is granted by one claim, and is the slot of the pool with that number")
{
    Preferring test;
    test.start();
    auto const asked = test.answer_claim(test.grant(3s));
    test.check_asks_for_preferred(asked);
    CHECK_FALSE(asked.earliest_attempt);
    REQUIRE(test.attempt.error == error_code());
    CHECK(test.attempt.holding.id() == 5);
    CHECK(test.attempt.holding.key() == "thread_id_lock:5");
    CHECK(test.backend->claims.empty());
    test.attempt.holding = Slot();
    test.runtime->run_ready();
    CHECK(test.given_back() == "thread_id_lock:5");
    // waiters for the pool are told
    CHECK(*test.backend->releases.front().request.claim->range == *test.pool.range());
}

TEST_CASE("a preferred slot that is held is not waited for: the whole pool is asked at once")
{
    Preferring test;
    test.start();
    auto const first = test.answer_claim(Busy{});
    REQUIRE(test.backend->claims.size() == 1);
    auto const second = test.answer_claim(test.grant(3s, 2));
    test.check_asks_for_all(second);
    CHECK(second.owner == first.owner);
    // nothing is in doubt: no search for the owner
    CHECK_FALSE(second.earliest_attempt);
    REQUIRE(test.attempt.error == error_code());
    CHECK(test.attempt.holding.id() == 2);
}

TEST_CASE("a try with a preferred slot is two claims at the most")
{
    Preferring test;
    std::optional<error_code> error;
    std::optional<Slot> got;
    test.pool.async_try_acquire({.prefer = 5}, [&](error_code failure, std::optional<Slot> slot) {
        error = failure;
        got = std::move(slot);
    });
    test.runtime->run_ready();
    test.check_asks_for_preferred(test.answer_claim(Busy{}));
    CHECK_FALSE(error);
    SECTION("another slot is free")
    {
        test.check_asks_for_all(test.answer_claim(test.grant(3s)));
        REQUIRE(got);
        CHECK(got->id() == 0);
    }
    SECTION("all are held")
    {
        test.check_asks_for_all(test.answer_claim(Busy{}));
        CHECK(error == error_code());
        CHECK_FALSE(got);
        CHECK(test.backend->claims.empty());
    }
    SECTION("its time is over before the preferred slot is known to be held")
    {
        test.runtime->run_for(2s);
        CHECK(error == make_error_code(errc::store_unavailable));
        while (!test.backend->claims.empty())
            (void)test.answer_claim(Busy{});
    }
}

TEST_CASE("an acquisition that waits prefers no slot: it takes the first that frees")
{
    Preferring test;
    test.start();
    (void)test.answer_claim(Busy{});
    (void)test.answer_claim(Busy{});
    REQUIRE(test.backend->claims.empty());
    // another one finds it waiting, and joins it without a claim
    Attempt<Slot> second;
    second.start(test.pool, {.prefer = 1});
    test.runtime->run_ready();
    CHECK(test.backend->claims.empty());
    test.backend->watch_handler(WatchEvent::hint);
    test.runtime->run_ready();
    test.check_asks_for_all(test.answer_claim(test.grant(3s, 7)));
    REQUIRE(test.attempt.error == error_code());
    CHECK(test.attempt.holding.id() == 7);
    test.check_asks_for_all(test.answer_claim(test.grant(3s, 3)));
    REQUIRE(second.error == error_code());
    CHECK(second.holding.id() == 3);
}

TEST_CASE("a preferred slot is asked for without a place in line, and the whole pool with one")
{
    Preferring test;
    test.backend->line = true;
    Attempt<Slot> waiting;
    waiting.start(test.pool);
    test.runtime->run_ready();
    (void)test.answer_claim(Busy{});
    test.backend->watch_handler(WatchEvent::in_force);
    test.runtime->run_ready();
    (void)test.answer_claim(test.grant(3s));
    REQUIRE(waiting.error == error_code());
    test.start();
    test.check_asks_for_preferred(test.answer_claim(Busy{}));
    CHECK(test.answer_claim(test.grant(3s, 1)).waits == Waits::in_line);
    CHECK(test.attempt.holding.id() == 1);
}

TEST_CASE("a preferred slot that is none is refused in words, without any I/O")
{
    ScriptedStore test;
    auto const invalid = make_error_code(boost::system::errc::invalid_argument);
    auto const check_refused = [&](auto& attempt, std::string const& words) {
        test.runtime->run_ready();
        CHECK(attempt.error == invalid);
        CHECK(test.runtime->logged(words) == 1);
        CHECK(test.store->diagnostics().last_detail == words);
        CHECK(documented(words));
    };
    SECTION("beyond the pool")
    {
        Attempt<Slot> attempt;
        attempt.start(SlotPool(*test.store, {.size = 16, .ttl = 3s}), {.prefer = 16});
        check_refused(
            attempt, "AcquireOptions::prefer is 16: the pool thread_id_lock:0..15 has 16 slots, counted from 0");
    }
    SECTION("of a lock, or of several")
    {
        Attempt<Lease> lease;
        Attempt<LeaseSet> set;
        std::string const words =
            "AcquireOptions::prefer is 0: stock is a lock, and only the slots of a SlotPool have numbers; leave it out";
        if (auto const kind = GENERATE(0, 1, 2); kind == 0) {
            lease.start(Lock(*test.store, {.key = "stock", .ttl = 3s}), {.prefer = 0});
            check_refused(lease, words);
        } else {
            auto const keys = kind == 1 ? std::vector<std::string>{"stock"} : std::vector<std::string>{"stock", "zeal"};
            set.start(MultiLock(*test.store, {.keys = keys, .ttl = 3s}), {.prefer = 0});
            check_refused(set, words);
        }
    }
    CHECK(test.backend->claims.empty());
}

} // namespace tenure::test
