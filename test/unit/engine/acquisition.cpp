// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/engine/second_try.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

Failure unknown()
{
    return Failure::unknown(make_error_code(errc::store_unavailable), "the connection broke");
}

/** One acquisition of a lock. */
struct LockAttempt : ScriptedStore {
    explicit LockAttempt(std::chrono::milliseconds ttl = 3s)
        : lock(*store, {.key = "k", .ttl = ttl})
    {
    }

    Lock lock;
    Attempt<Lease> attempt;

    void begin(AcquireOptions const& options = {})
    {
        attempt.start(lock, options);
        runtime->run_ready();
    }
};

/** One acquisition of a slot. */
struct PoolAttempt : ScriptedStore {
    SlotPool pool{*store, {.size = 4, .ttl = 3s}};
    Attempt<Slot> attempt;

    void begin()
    {
        attempt.start(pool);
        runtime->run_ready();
    }
};

} // namespace

TEST_CASE("a grant becomes a lease that names its key, its owner and its fencing token")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "jobs:nightly", .ttl = 3s});
    Attempt<Lease> attempt;
    attempt.start(lock);
    test.runtime->run_ready();
    REQUIRE(test.backend->claims.size() == 1);
    CHECK_FALSE(test.backend->claims.front().request.earliest_attempt);
    CHECK(test.backend->claims.front().request.owner.starts_with("worker/"));
    CHECK(test.backend->claims.front().request.owner.size() == std::string("worker/3600/").size() + 32);
    auto const asked = test.grant_claim(3s);
    REQUIRE(attempt.error == error_code());
    CHECK(attempt.holding.valid());
    CHECK(attempt.holding.key() == "jobs:nightly");
    CHECK(attempt.holding.owner() == asked.owner);
    CHECK(attempt.holding.fencing_token() == 1);
    CHECK(test.store->statistics().held == 1);
}

TEST_CASE("two acquisitions never share an owner")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    Attempt<Lease> first;
    Attempt<Lease> second;
    first.start(lock);
    second.start(lock);
    test.runtime->run_ready();
    REQUIRE(test.backend->claims.size() == 2);
    CHECK(test.backend->claims[0].request.owner != test.backend->claims[1].request.owner);
}

TEST_CASE(
    "an owner's random part is drawn after its acquisition has begun, so that copies of the process never share one")
{
    // outlive what calls their handlers
    std::list<Attempt<Lease>> attempts;
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    for (std::size_t acquisitions = 1; acquisitions <= 3; ++acquisitions) {
        // random bytes that were drawn before an image was taken are the same in all of its copies
        test.runtime->drawn.clear();
        attempts.emplace_back().start(lock);
        test.runtime->run_ready();
        REQUIRE(test.backend->claims.size() == acquisitions);
        std::string digits;
        for (auto const byte : test.runtime->drawn)
            for (auto const half : {std::to_integer<unsigned>(byte) >> 4U, std::to_integer<unsigned>(byte) & 0xfU})
                digits += "0123456789abcdef"[half];
        REQUIRE(digits.size() == 32);
        CHECK(test.backend->claims.back().request.owner.ends_with("/" + digits));
    }
}

TEST_CASE("a cancelled acquisition abandons its claim, and keeps no store open for it")
{
    ScriptedStore test;
    Attempt<Lease> attempt;
    attempt.start(Lock(*test.store, {.key = "k", .ttl = 3s}), {.wait = std::chrono::milliseconds::max()});
    test.store.reset();
    test.runtime->run_ready();
    REQUIRE(test.backend->claims.size() == 1);
    auto const& deadline = test.backend->claims.front().request.not_after;
    CHECK_FALSE(deadline.over(test.runtime->now()));
    attempt.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    CHECK(deadline.abandoned());
    CHECK(test.backend->drops == 1);
    CHECK(test.backend->shutdowns == 0);
    SECTION("one that was not written ends at once, and with it the store")
    {
        test.backend->answer(test.backend->claims, Failure::dropped());
        test.runtime->run_ready();
        CHECK(test.backend->shutdowns == 1);
    }
    SECTION("one that was granted is given back before the store closes")
    {
        test.grant_claim(3s);
        CHECK(test.backend->shutdowns == 0);
        test.answer_release();
        CHECK(test.backend->shutdowns == 1);
    }
    SECTION("one that is never answered is waited for a second")
    {
        test.runtime->run_for(999ms);
        CHECK(test.backend->shutdowns == 0);
        test.runtime->run_for(1ms);
        CHECK(test.backend->shutdowns == 1);
    }
}

TEST_CASE("a release that was tried for a second ends a moment after the last user of its store")
{
    ScriptedStore test;
    Attempt<Lease> attempt;
    test.acquire_at_once(attempt, Lock(*test.store, {.key = "k", .ttl = 10s}), 10s);
    attempt.holding = Lease();
    test.runtime->run_for(2s);
    test.store.reset();
    test.runtime->run_for(249ms);
    CHECK(test.backend->shutdowns == 0);
    test.runtime->run_for(1ms);
    CHECK(test.backend->shutdowns == 1);
    CHECK(test.runtime->logged("was not confirmed; the key expires after its ttl") == 1);
}

TEST_CASE("a cancelled acquisition owns nothing, and gives back a grant that arrives later")
{
    PoolAttempt test;
    test.begin();
    test.attempt.cancel.emit(asio::cancellation_type::total);
    test.runtime->run_ready();
    REQUIRE(test.attempt.error == error_code(asio::error::operation_aborted));
    CHECK(test.backend->releases.empty());
    auto const asked = test.backend->answer(test.backend->claims, test.grant(3s, 2));
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.backend->releases.front().request.claim->key() == "thread_id_lock:2");
    CHECK(test.backend->releases.front().request.claim->owner == asked.owner);
    CHECK(test.store->statistics().given_back == 1);
}

TEST_CASE("a cancelled acquisition whose claim ends without an answer withdraws its owner from the range")
{
    PoolAttempt test;
    test.begin();
    test.attempt.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    auto const asked = test.backend->answer(test.backend->claims, unknown());
    test.runtime->run_ready();
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == asked.owner);
    // and asks until it is answered
    test.backend->answer(test.backend->withdrawals, unknown());
    test.runtime->run_for(1s);
    CHECK(test.backend->withdrawals.size() == 1);
}

TEST_CASE("a try that ends without an answer withdraws its owner from the range")
{
    ScriptedStore test;
    SlotPool const pool(*test.store, {.size = 4, .ttl = 3s});
    std::optional<error_code> error;
    pool.async_try_acquire([&](error_code failure, std::optional<Slot> const&) { error = failure; });
    test.runtime->run_ready();
    auto const asked = test.backend->answer(test.backend->claims, unknown());
    test.runtime->run_ready();
    CHECK(error == make_error_code(errc::store_unavailable));
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == asked.owner);
}

TEST_CASE("a claim without an answer is repeated under the same owner, which is searched for first")
{
    PoolAttempt test;
    test.begin();
    auto const began = test.runtime->now();
    auto const first = test.backend->answer(test.backend->claims, unknown());
    test.runtime->run_for(200ms);
    REQUIRE(test.backend->claims.size() == 1);
    CHECK(test.backend->claims.front().request.owner == first.owner);
    CHECK(test.backend->claims.front().request.earliest_attempt == began);
}

TEST_CASE("a second grant of another key to the same acquisition is released, and the lease is kept")
{
    PoolAttempt test;
    auto late = acquire_at_the_second_try(test, test.attempt, test.pool);
    CHECK(test.attempt.holding.id() == 1);
    SECTION("another key")
    {
        std::move(late.handler)(test.grant(3s, 0));
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 1);
        CHECK(test.backend->releases.front().request.claim->index == 0);
    }
    SECTION("the same key")
    {
        std::move(late.handler)(test.grant(3s, 1));
        test.runtime->run_ready();
        CHECK(test.backend->releases.empty());
    }
    SECTION("no answer: it may have taken a second key, which is given back with the first")
    {
        std::move(late.handler)(ClaimReply(unknown()));
        test.runtime->run_ready();
        CHECK(test.backend->withdrawals.empty());
        CHECK(test.attempt.holding.valid());
        test.attempt.holding.async_release([](error_code, ReleaseOutcome) {});
        test.runtime->run_ready();
        CHECK(test.backend->releases.size() == 1);
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.backend->withdrawals.front().request.owner == late.request.owner);
        return;
    }
    CHECK(test.attempt.holding.valid());
}

TEST_CASE("a claim that is answered after its lease was released is given back")
{
    PoolAttempt test;
    auto late = acquire_at_the_second_try(test, test.attempt, test.pool);
    test.attempt.holding.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    test.backend->answer(test.backend->releases, Released{});
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.empty());
    SECTION("it took the key anew")
    {
        std::move(late.handler)(test.grant(3s, 1));
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 1);
        CHECK(test.backend->releases.front().request.claim->owner == late.request.owner);
    }
    SECTION("nobody knows what it did")
    {
        std::move(late.handler)(ClaimReply(unknown()));
        test.runtime->run_ready();
        CHECK(test.backend->withdrawals.size() == 1);
    }
}

TEST_CASE("while another claim of the acquisition is under way, a longer ttl is not relied on")
{
    LockAttempt test(1s);
    test.attempt.start(test.lock);
    // the first claim stays unanswered, and is asked again beside it
    test.runtime->run_for(400ms);
    REQUIRE(test.backend->claims.size() == 2);
    auto const late = std::move(test.backend->claims.front());
    test.backend->claims.pop_front();
    test.grant_claim(1s);
    REQUIRE(test.attempt.error == error_code());
    test.attempt.holding.async_renew(5s, [](error_code) {});
    test.runtime->run_ready();
    auto const since = test.runtime->now();
    test.backend->answer(test.backend->renewals, Renewed{5s, since});
    test.runtime->run_ready();
    // that claim finds its owner, and makes it one second again
    CHECK(test.attempt.holding.valid_until() <= since + 1s);
}

TEST_CASE("a grant that comes too late to be used is given back, and asked for again under a new owner")
{
    LockAttempt test(1s);
    test.begin();
    auto const grant = test.grant(1s);
    auto const first = test.backend->claims.front().request.owner;
    test.runtime->skip(900ms);
    test.backend->answer(test.backend->claims, grant);
    test.runtime->run_ready();
    CHECK_FALSE(test.attempt.error);
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.backend->releases.front().request.claim->owner == first);
    test.runtime->run_for(200ms);
    auto& again = test.backend->claims.back().request;
    CHECK(again.owner != first);
    CHECK_FALSE(again.earliest_attempt);
    CHECK(test.store->diagnostics().last_error == errc::ttl_too_short);
}

TEST_CASE("where a grant comes too late, what a claim without an answer took goes with it")
{
    ScriptedStore test;
    SlotPool const pool(*test.store, {.size = 2, .ttl = 1s});
    Attempt<Slot> attempt;
    attempt.start(pool);
    test.runtime->run_ready();
    auto const grant = test.grant(1s);
    test.runtime->run_for(400ms);
    REQUIRE(test.backend->claims.size() == 2);
    auto late = std::move(test.backend->claims.front());
    test.backend->claims.pop_front();
    test.backend->answer(test.backend->claims, unknown());
    test.runtime->skip(500ms);
    auto const owner = late.request.owner;
    std::move(late.handler)(ClaimReply(grant));
    test.runtime->run_ready();
    CHECK_FALSE(attempt.error);
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.backend->releases.front().request.claim->owner == owner);
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == owner);
}

TEST_CASE("a grant that the store does not confirm is given back, and asked for again under a new owner until the end")
{
    LockAttempt test;
    test.begin({.wait = 1s});
    std::vector<std::string> owners;
    while (!test.attempt.error) {
        if (!test.backend->claims.empty()) {
            CHECK_FALSE(test.backend->claims.front().request.earliest_attempt);
            auto const asked = test.backend->answer(
                test.backend->claims,
                Unconfirmed{test.grant(3s), make_error_code(errc::not_replicated), "1 of 2 have it", false});
            test.runtime->run_ready();
            owners.push_back(asked.owner);
            REQUIRE(test.backend->releases.size() == 1);
            CHECK(test.backend->answer(test.backend->releases, Released{}).claim->owner == asked.owner);
        }
        test.runtime->run_for(10ms);
    }
    CHECK(*test.attempt.error == errc::not_replicated);
    CHECK(test.attempt.holding.empty());
    CHECK(owners.size() > 1);
    CHECK(std::set(owners.begin(), owners.end()).size() == owners.size());
    CHECK(test.store->diagnostics().last_detail == "1 of 2 have it");
}

TEST_CASE("a permission missing for the confirmation of a grant ends the wait at once")
{
    LockAttempt test;
    test.begin();
    test.backend->answer(
        test.backend->claims,
        Unconfirmed{test.grant(3s), make_error_code(errc::permission_denied), "grant +wait", true});
    test.runtime->run_ready();
    CHECK(test.attempt.error == make_error_code(errc::permission_denied));
    CHECK(test.backend->releases.size() == 1);
}

TEST_CASE("a claim asked twice and confirmed the first time keeps its lease when the second is not confirmed")
{
    LockAttempt test;
    test.attempt.start(test.lock);
    test.runtime->run_for(1100ms);
    REQUIRE(test.backend->claims.size() == 2);
    auto const grant = test.grant(3s);
    test.backend->answer(test.backend->claims, grant);
    test.backend->answer(
        test.backend->claims, Unconfirmed{grant, make_error_code(errc::not_replicated), "1 of 2 have it", false});
    test.runtime->run_ready();
    REQUIRE(test.attempt.error == error_code());
    CHECK(test.backend->releases.empty());
    CHECK(test.attempt.holding.valid());
}

TEST_CASE("where an owner may claim only once, each attempt is another owner's, and one without an answer is withdrawn")
{
    LockAttempt test;
    test.backend->owners_are_spent = true;
    test.begin();
    auto const first = test.backend->answer(test.backend->claims, Busy{5ms, false});
    test.runtime->run_for(1s);
    CHECK(test.backend->withdrawals.empty());
    REQUIRE(test.backend->claims.size() == 1);
    auto const second = test.backend->answer(test.backend->claims, unknown());
    test.runtime->run_ready();
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == second.owner);
    test.runtime->run_for(1s);
    REQUIRE(test.backend->claims.size() == 1);
    auto const third = test.grant_claim(3s);
    CHECK_FALSE(third.earliest_attempt);
    CHECK(first.owner != second.owner);
    CHECK(second.owner != third.owner);
    REQUIRE(test.attempt.error == error_code());
    CHECK(test.attempt.holding.owner() == third.owner);
}

TEST_CASE("where an owner may claim only once, the first answer ends all that it has asked for")
{
    LockAttempt test;
    test.backend->owners_are_spent = true;
    test.attempt.start(test.lock, {.wait = 1h});
    // not answered in time: asked again beside it
    test.runtime->run_for(1100ms);
    REQUIRE(test.backend->claims.size() == 2);
    test.backend->answer(test.backend->claims, unknown());
    test.backend->answer(test.backend->claims, unknown());
    test.runtime->run_for(100ms);
    REQUIRE(test.backend->claims.size() == 1);
    test.grant_claim(3s);
    CHECK(test.attempt.error == error_code());
    CHECK(test.attempt.holding.valid());
}

TEST_CASE("while a pool is busy one acquisition contends and the others queue, first come first served")
{
    ScriptedStore test;
    SlotPool const pool(*test.store, {.size = 1, .ttl = 3s});
    std::array<Attempt<Slot>, 3> attempts;
    attempts[0].start(pool);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    attempts[1].start(pool);
    attempts[2].start(pool);
    test.runtime->run_ready();
    CHECK(test.backend->claims.empty());
    CHECK(test.backend->watching == 1);

    test.backend->watch_handler(WatchEvent::in_force);
    test.runtime->run_ready();
    REQUIRE(test.backend->claims.size() == 1);
    SECTION("the head gets it, and the next one tries at once")
    {
        test.grant_claim(3s);
        CHECK(attempts[0].error == error_code());
        REQUIRE(test.backend->claims.size() == 1);
        test.grant_claim(3s);
        CHECK(attempts[1].error == error_code());
        CHECK_FALSE(attempts[2].error);
    }
    SECTION("a cancelled head passes its turn")
    {
        test.backend->answer(test.backend->claims, Busy{});
        test.runtime->run_ready();
        attempts[0].cancel.emit(asio::cancellation_type::partial);
        test.runtime->run_ready();
        REQUIRE(test.backend->claims.size() == 1);
        test.grant_claim(3s);
        CHECK(attempts[1].error == error_code());
    }
    SECTION("a head whose wait is over passes its turn")
    {
        test.backend->answer(test.backend->claims, Busy{});
        test.runtime->run_ready();
        Attempt<Slot> patient;
        patient.start(pool, {.wait = 1h});
        while (test.backend->claims.size() < 2 && test.runtime->now() < Instant::max()) {
            test.runtime->run_for(100ms);
            while (!test.backend->claims.empty() && !attempts[2].error)
                test.backend->answer(test.backend->claims, Busy{});
            if (attempts[2].error)
                break;
        }
        CHECK(attempts[0].error == make_error_code(errc::timed_out));
        CHECK(attempts[2].error == make_error_code(errc::timed_out));
        test.runtime->run_for(2s);
        test.grant_claim(3s);
        CHECK(patient.error == error_code());
    }
}

TEST_CASE("news that comes when the waits of all in the queue are over ends them, and the key goes to who still waits")
{
    ScriptedStore test;
    SlotPool const pool(*test.store, {.size = 1, .ttl = 3s});
    std::array<Attempt<Slot>, 3> impatient;
    for (auto& attempt : impatient)
        attempt.start(pool, {.wait = 1s});
    test.runtime->run_ready();
    while (!test.backend->claims.empty())
        test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    Attempt<Slot> patient;
    patient.start(pool, {.wait = 1h});
    test.runtime->run_ready();

    // the process was stopped: the news is there before its own timers are looked at
    test.runtime->skip(2s);
    test.backend->watch_handler(WatchEvent::hint);
    test.runtime->run_ready();
    for (auto const& attempt : impatient)
        CHECK(attempt.error == make_error_code(errc::timed_out));
    REQUIRE(test.backend->claims.size() == 1);
    test.grant_claim(3s);
    CHECK(patient.error == error_code());
}

TEST_CASE("a great many waits that are over at once end one after another, not one inside the other")
{
    ScriptedStore test;
    SlotPool const pool(*test.store, {.size = 1, .ttl = 3s});
    Attempt<Slot> first;
    first.start(pool, {.wait = 1s});
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    constexpr std::size_t many = 50'000;
    std::size_t timed_out = 0;
    for (std::size_t i = 0; i < many; ++i)
        pool.async_acquire({.wait = 1s}, [&](error_code error, Slot const&) {
            timed_out += error == make_error_code(errc::timed_out) ? 1U : 0U;
        });
    test.runtime->run_ready();
    test.runtime->skip(2s);
    test.backend->watch_handler(WatchEvent::hint);
    test.runtime->run_ready();
    CHECK(timed_out == many);
    CHECK(test.store->statistics().waiting == 0);
}

TEST_CASE("a try claims past a closed wait queue, and completes without a slot or an error if nothing is free")
{
    ScriptedStore test;
    SlotPool const pool(*test.store, {.size = 1, .ttl = 3s});
    Attempt<Slot> waiting;
    waiting.start(pool);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    std::optional<error_code> error;
    bool empty = false;
    pool.async_try_acquire([&](error_code failure, std::optional<Slot> const& slot) {
        error = failure;
        empty = !slot;
    });
    test.runtime->run_ready();
    REQUIRE(test.backend->claims.size() == 1);
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    CHECK(error == error_code());
    CHECK(empty);
    CHECK(test.store->statistics().busy == 1);
}

TEST_CASE("an error that only a person can fix ends an acquisition at once, and diagnostics have the store's words")
{
    LockAttempt test;
    test.begin();
    test.backend->answer(
        test.backend->claims,
        Failure::refused(make_error_code(errc::permission_denied), "NOPERM: grant +set on ~k", true));
    test.runtime->run_ready();
    CHECK(test.attempt.error == make_error_code(errc::permission_denied));
    CHECK(test.attempt.error == condition::misconfigured);
    CHECK(test.store->diagnostics().last_detail == "NOPERM: grant +set on ~k");
}

TEST_CASE("keys that other programs hold without expiry end an acquisition at once, and diagnostics name them")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "held", .ttl = 3s});
    Attempt<Lease> attempt;
    attempt.start(lock);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{std::nullopt, true});
    test.runtime->run_ready();
    CHECK(attempt.error == make_error_code(errc::key_conflict));
    auto const diagnostics = test.store->diagnostics();
    CHECK(diagnostics.last_error == make_error_code(errc::key_conflict));
    CHECK(
        diagnostics.last_detail ==
        "held: held without expiry by another program, so it never becomes free: use another "
        "prefix or key, or delete it by hand");
}

TEST_CASE("a claim that came too late to be sent leaves the reason that the store gave before")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "lock", .ttl = 3s});
    Attempt<Lease> attempt;
    attempt.start(lock, {.wait = 1s});
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Failure::refused(make_error_code(errc::store_refused), "READONLY"));
    REQUIRE(test.runtime->run_while_not([&] { return !test.backend->claims.empty(); }, 1s));
    test.backend->answer(test.backend->claims, Failure::not_sent({}, "still unwritten when its time was over"));
    test.runtime->run_for(1s);
    CHECK(attempt.error == make_error_code(errc::store_refused));
    CHECK(test.store->diagnostics().last_detail == "READONLY");
}

TEST_CASE("bad options are refused without any I/O")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    for (auto const& options : {AcquireOptions{.wait = -1ms}, AcquireOptions{.ttl = 1ms}, AcquireOptions{.ttl = 25h}}) {
        Attempt<Lease> attempt;
        attempt.start(lock, options);
        test.runtime->run_ready();
        CHECK(attempt.error == make_error_code(boost::system::errc::invalid_argument));
    }
    CHECK(test.backend->claims.empty());
    CHECK_THROWS_AS(Lock(*test.store, {.key = ""}), std::invalid_argument);
    CHECK_THROWS_AS(Lock(*test.store, {.key = "a\nb"}), std::invalid_argument);
    CHECK_THROWS_AS(Lock(*test.store, {.key = "a{}b"}), std::invalid_argument);
    CHECK_THROWS_AS(Lock(*test.store, {.key = "a{b}{c}"}), std::invalid_argument);
    CHECK_THROWS_AS(Lock(*test.store, {.key = std::string(1025, 'x')}), std::invalid_argument);
    CHECK_THROWS_AS(SlotPool(*test.store, {.size = 0}), std::invalid_argument);
    CHECK_THROWS_AS(SlotPool(*test.store, {.size = (1U << 20U) + 1}), std::invalid_argument);
}

TEST_CASE("an acquisition that is cancelled before it began asks nothing")
{
    LockAttempt test;
    test.attempt.start(test.lock);
    test.attempt.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    CHECK(test.attempt.error == error_code(asio::error::operation_aborted));
    if (!test.backend->claims.empty()) {
        test.grant_claim(3s);
        CHECK(test.backend->releases.size() == 1);
    }
}

} // namespace tenure::test
