// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How one store behaves towards the others that wait for the same keys.
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <optional>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/// the longest time for which others go first, where answers come at once
constexpr auto longest_grace = 20ms;

/** A lock of a store that keeps a line. */
struct LineTest : ScriptedStore {
    LineTest() { backend->line = true; }

    Lock lock{*store, {.key = "k", .ttl = 3s}};

    /** Answers the oldest claim, and tells how it stood in line. */
    template <class Answer>
    Waits answer_claim(Answer answer)
    {
        REQUIRE_FALSE(backend->claims.empty());
        auto const request = backend->answer(backend->claims, std::move(answer));
        runtime->run_ready();
        return request.waits;
    }
    void notify(WatchEvent event)
    {
        backend->watch_handler(event);
        runtime->run_ready();
    }
    void begin(Attempt<Lease>& attempt, AcquireOptions const& options = {})
    {
        attempt.start(lock, options);
        runtime->run_ready();
    }
    /** An acquisition that has found the key held and stands in line. */
    void line_up(Attempt<Lease>& attempt, AcquireOptions const& options = {})
    {
        begin(attempt, options);
        CHECK(answer_claim(Busy{}) == Waits::no);
        notify(WatchEvent::in_force);
        CHECK(answer_claim(Busy{}) == Waits::in_line);
        REQUIRE(backend->claims.empty());
    }
    /** Tries in vain until the backoff of a waiter is longer than a grace. */
    void lengthen_backoff()
    {
        for (int round = 0; round < 5; ++round) {
            notify(WatchEvent::hint);
            (void)answer_claim(Busy{});
        }
    }
    void cancel(Attempt<Lease>& attempt)
    {
        attempt.cancel.emit(asio::cancellation_type::terminal);
        runtime->run_ready();
    }
    /** Ends before the test does, which its handler belongs to. */
    void give_up(Attempt<Lease>& attempt)
    {
        cancel(attempt);
        CHECK(attempt.error == make_error_code(asio::error::operation_aborted));
    }
    /** An acquisition that holds the key while others may wait. */
    void hold(Attempt<Lease>& attempt)
    {
        begin(attempt);
        (void)answer_claim(grant(3s));
        REQUIRE(attempt.error == error_code());
    }
    /** Releases the lease, and answers it. */
    void release(Attempt<Lease>& attempt, bool named_another)
    {
        attempt.holding = Lease();
        runtime->run_ready();
        backend->answer(backend->releases, Released{named_another});
        runtime->run_ready();
    }
    /** No claim for a grace, and then one. */
    void check_that_it_holds_back()
    {
        REQUIRE(backend->claims.empty());
        runtime->run_for(9ms);
        CHECK(backend->claims.empty());
        runtime->run_for(longest_grace - 9ms);
        CHECK(backend->claims.size() == 1);
    }
};

/** An acquisition that has found the key held, and stands in line. */
struct WaiterTest : LineTest {
    explicit WaiterTest(AcquireOptions const& options = {}) { line_up(waiter, options); }

    Attempt<Lease> waiter;

    /** The waiter's turn comes while a claim is under way, which finds the key held. */
    void turn_during_claim()
    {
        notify(WatchEvent::hint);
        notify(WatchEvent::our_turn);
        REQUIRE(backend->claims.size() == 1);
        CHECK(answer_claim(Busy{}) == Waits::in_line);
    }
    /** The waiter's turn comes, and it gets the key. */
    void take_turn()
    {
        notify(WatchEvent::our_turn);
        (void)answer_claim(grant(3s));
    }
};

} // namespace

TEST_CASE("a waiter stands in line from its second claim on, and in front once a release has named it")
{
    WaiterTest test;
    test.notify(WatchEvent::our_turn);
    REQUIRE(test.backend->claims.size() == 1);
    SECTION("the key is its")
    {
        CHECK(test.answer_claim(test.grant(3s)) == Waits::in_front);
        CHECK(test.waiter.error == error_code());
        CHECK(test.backend->lines_left == 0);
    }
    SECTION("another claim was faster")
    {
        CHECK(test.answer_claim(Busy{}) == Waits::in_front);
        test.notify(WatchEvent::hint);
        CHECK(test.answer_claim(Busy{}) == Waits::in_line);
    }
    SECTION("the claim fails, so its place in front is still to be taken")
    {
        CHECK(test.answer_claim(Failure::refused(make_error_code(errc::store_refused), "READONLY")) == Waits::in_front);
        test.notify(WatchEvent::hint);
        CHECK(test.answer_claim(Busy{}) == Waits::in_front);
    }
}

TEST_CASE("a turn that comes while a claim is under way is taken right after the answer")
{
    WaiterTest test;
    test.turn_during_claim();
    REQUIRE(test.backend->claims.size() == 1);
    CHECK(test.answer_claim(Busy{}) == Waits::in_front);
    CHECK(test.backend->claims.empty());
}

TEST_CASE("a turn that comes while an acquisition's first claim stands in line is taken right after the answer")
{
    WaiterTest test;
    test.take_turn();
    Attempt<Lease> second;
    auto const begin = [&] {
        test.begin(second);
        REQUIRE(test.backend->claims.size() == 1);
    };
    SECTION("while it is under way")
    {
        begin();
        test.runtime->run_for(1ms);
        test.notify(WatchEvent::our_turn);
        CHECK(test.answer_claim(Busy{}) == Waits::in_line);
        REQUIRE(test.backend->claims.size() == 1);
        CHECK(test.answer_claim(test.grant(3s)) == Waits::in_front);
        CHECK(second.error == error_code());
        // the first claim may have come to the store after the release, and put the name there once more
        CHECK(test.backend->lines_left == 1);
    }
    SECTION("before it was sent: that turn was nobody's")
    {
        test.notify(WatchEvent::our_turn);
        test.runtime->run_for(1ms);
        begin();
        CHECK(test.answer_claim(Busy{}) == Waits::in_line);
        CHECK(test.backend->claims.empty());
        test.give_up(second);
    }
}

TEST_CASE("a waiter holds back while others were named, and then asks")
{
    WaiterTest test;
    test.lengthen_backoff();
    test.notify(WatchEvent::others_turn);
    test.check_that_it_holds_back();
}

TEST_CASE("the time for others grows with the time that claims take")
{
    WaiterTest test;
    for (int round = 0; round < 40; ++round) {
        test.notify(WatchEvent::hint);
        test.runtime->run_for(20ms);
        (void)test.answer_claim(Busy{});
    }
    test.notify(WatchEvent::others_turn);
    test.runtime->run_for(39ms);
    CHECK(test.backend->claims.empty());
    test.runtime->run_for(41ms);
    CHECK(test.backend->claims.size() == 1);
}

TEST_CASE("without a line, or without notifications, no store joins it")
{
    LineTest test;
    SECTION("the store keeps none")
    {
        test.backend->line = false;
    }
    SECTION("the lock wants no notifications")
    {
        test.lock = Lock(*test.store, {.key = "k", .ttl = 3s, .lease = {.notifications = false}});
    }
    Attempt<Lease> attempt;
    attempt.start(test.lock, {.wait = 1s});
    test.runtime->run_ready();
    while (!attempt.error) {
        while (!test.backend->claims.empty())
            CHECK(test.answer_claim(Busy{}) == Waits::no);
        test.runtime->run_for(5ms);
    }
    CHECK(test.backend->lines_left == 0);
}

TEST_CASE("the last waiter that gives up takes the store out of the line")
{
    WaiterTest test;
    Attempt<Lease> second;
    test.begin(second);
    test.cancel(test.waiter);
    // the next one goes on in its place
    CHECK(test.backend->lines_left == 0);
    CHECK(test.answer_claim(Busy{}) == Waits::in_line);
    test.cancel(second);
    CHECK(test.backend->lines_left == 1);
}

TEST_CASE("a waiter that the end of the store ends leaves the line before the store is shut down")
{
    WaiterTest test;
    std::optional<error_code> closed;
    test.store->async_close(60s, [&](error_code error) { closed = error; });
    test.runtime->run_ready();
    CHECK(test.waiter.error == make_error_code(errc::closed));
    CHECK(closed == error_code());
    CHECK(test.backend->shutdowns == 1);
    CHECK(test.backend->lines_left == 1);
    CHECK_FALSE(test.backend->left_after_shutdown);
}

TEST_CASE("a wait that is over takes the store out of the line, and one that ends with a grant has left already")
{
    WaiterTest test({.wait = 1s});
    SECTION("timed out")
    {
        while (!test.waiter.error) {
            test.runtime->run_for(5ms);
            while (!test.backend->claims.empty())
                (void)test.answer_claim(Busy{});
        }
        CHECK(test.waiter.error == make_error_code(errc::timed_out));
        CHECK(test.backend->lines_left == 1);
    }
    SECTION("granted")
    {
        test.take_turn();
        CHECK(test.waiter.error == error_code());
        CHECK(test.backend->lines_left == 0);
    }
}

TEST_CASE("a claim that stands in line and is answered after its acquisition gave up leaves no place behind")
{
    WaiterTest test;
    test.notify(WatchEvent::hint);
    test.cancel(test.waiter);
    CHECK(test.backend->lines_left == 1);
    (void)test.answer_claim(Busy{});
    CHECK(test.backend->lines_left == 2);
}

TEST_CASE("a turn that ends with the last waiter is lost: later acquisitions join the line")
{
    WaiterTest test;
    test.notify(WatchEvent::our_turn);
    CHECK(test.answer_claim(Failure::refused(make_error_code(errc::store_refused), "READONLY")) == Waits::in_front);
    test.cancel(test.waiter);
    CHECK(test.backend->lines_left == 1);
    Attempt<Lease> second;
    test.begin(second);
    CHECK(test.answer_claim(Busy{}) == Waits::in_line);
    test.notify(WatchEvent::hint);
    CHECK(test.answer_claim(Busy{}) == Waits::in_line);
}

TEST_CASE("a claim that was under way when the store was named leaves no place behind")
{
    WaiterTest test;
    // this claim may have come to the store before the release, or after another store's claim that followed it
    test.turn_during_claim();
    CHECK(test.answer_claim(test.grant(3s)) == Waits::in_front);
    CHECK(test.waiter.error == error_code());
    CHECK(test.backend->lines_left == 1);
}

TEST_CASE("where news stop coming, the store leaves the line")
{
    WaiterTest test;
    test.notify(WatchEvent::unavailable);
    CHECK(test.backend->lines_left == 1);
    test.runtime->run_for(1s);
    CHECK(test.answer_claim(Busy{}) == Waits::no);
}

TEST_CASE("while others are known to wait, the first claim of an acquisition stands in line")
{
    WaiterTest test;
    test.take_turn();
    Attempt<Lease> second;
    test.begin(second);
    SECTION("a waiter's")
    {
        CHECK(test.answer_claim(Busy{}) == Waits::in_line);
        test.cancel(second);
        CHECK(test.backend->lines_left == 1);
    }
    SECTION("one that gives up before the answer")
    {
        test.cancel(second);
        CHECK(test.backend->lines_left == 1);
    }
    SECTION("but no single try's")
    {
        (void)test.answer_claim(Busy{});
        std::optional<error_code> error;
        test.lock.async_try_acquire([&](error_code failure, std::optional<Lease> const&) { error = failure; });
        test.runtime->run_ready();
        CHECK(test.answer_claim(Busy{}) == Waits::no);
        CHECK(error == error_code());
        CHECK(test.backend->lines_left == 0);
    }
}

TEST_CASE("after a release that named another store, this store's acquisitions hold back")
{
    LineTest test;
    Attempt<Lease> holder;
    test.hold(holder);
    SECTION("one that begins")
    {
        test.release(holder, true);
        Attempt<Lease> next;
        test.begin(next);
        test.check_that_it_holds_back();
        (void)test.answer_claim(test.grant(3s));
        CHECK(next.error == error_code());
    }
    SECTION("one that waits")
    {
        Attempt<Lease> waiter;
        test.line_up(waiter);
        test.lengthen_backoff();
        test.release(holder, true);
        test.check_that_it_holds_back();
        test.give_up(waiter);
    }
    SECTION("no single try")
    {
        test.release(holder, true);
        test.lock.async_try_acquire([](error_code, std::optional<Lease> const&) {});
        test.runtime->run_ready();
        CHECK(test.backend->claims.size() == 1);
    }
    SECTION("not for longer than a grace")
    {
        test.release(holder, true);
        test.runtime->run_for(longest_grace);
        Attempt<Lease> next;
        test.begin(next);
        CHECK(test.backend->claims.size() == 1);
        test.give_up(next);
    }
    SECTION("nor after one that named nobody, or this store")
    {
        test.release(holder, false);
        Attempt<Lease> next;
        test.begin(next);
        CHECK(test.backend->claims.size() == 1);
        test.give_up(next);
    }
}

TEST_CASE("while others are known to wait, an acquisition lets a release of its own store end first")
{
    LineTest test;
    Attempt<Lease> holder;
    test.hold(holder);
    test.release(holder, true);
    test.runtime->run_for(longest_grace);
    test.hold(holder);
    // as in a loop: the lease is destroyed, which releases in the background, and the next acquisition begins
    holder.holding = Lease();
    Attempt<Lease> next;
    test.begin(next);
    REQUIRE(test.backend->releases.size() == 1);
    REQUIRE(test.backend->claims.empty());
    SECTION("it names another: that one goes first")
    {
        test.backend->answer(test.backend->releases, Released{true});
        test.runtime->run_ready();
        test.check_that_it_holds_back();
    }
    SECTION("it names nobody: at once")
    {
        test.backend->answer(test.backend->releases, Released{});
        test.runtime->run_ready();
        CHECK(test.backend->claims.size() == 1);
    }
    SECTION("no answer: after a grace")
    {
        test.check_that_it_holds_back();
    }
}

TEST_CASE("if no other store was named recently, an acquisition does not wait for a release")
{
    LineTest test;
    Attempt<Lease> holder;
    test.hold(holder);
    test.release(holder, true);
    test.runtime->run_for(2s);
    test.hold(holder);
    holder.holding = Lease();
    Attempt<Lease> next;
    test.begin(next);
    CHECK(test.backend->releases.size() == 1);
    CHECK(test.backend->claims.size() == 1);
}

TEST_CASE("where keys free without any news, waiters poll steadily, as often as the options say")
{
    ScriptedStore test;
    test.backend->silent_releases = true;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s, .lease = {.max_poll_interval = 70ms}});
    Attempt<Lease> attempt;
    attempt.start(lock, {.wait = 1h});
    test.runtime->run_ready();
    for (int round = 0; round < 20; ++round) {
        REQUIRE(test.backend->claims.size() == 1);
        test.backend->answer(test.backend->claims, Busy{});
        test.runtime->run_for(49ms);
        REQUIRE(test.backend->claims.empty());
        test.runtime->run_for(21ms);
    }
}

} // namespace tenure::test
