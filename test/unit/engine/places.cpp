// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Acquisitions of shares: their places in the store, and what a process does with them.
#include "harness/documented.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/semaphore.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A fair lock, and what the store hears of its waiters. */
struct PlaceTest : ScriptedStore {
    Lock lock{*store, {.key = "k", .ttl = 3s, .fair = true}};

    [[nodiscard]] Busy in_line(std::uint64_t number) const
    {
        return {.place = InLine{.number = number, .ahead = 1, .ttl = 3s, .since = runtime->now()}};
    }
    void notify(WatchEvent event, std::vector<std::uint64_t> const& numbers = {}) const
    {
        backend->watch_handler({event, numbers});
        runtime->run_ready();
    }
    template <class Source>
    void start(Attempt<Lease>& attempt, Source const& source, AcquireOptions const& options = {}) const
    {
        attempt.start(source, options);
        runtime->run_ready();
    }
    /** An acquisition with a place, without a pending claim. */
    ClaimRequest stand(Attempt<Lease>& attempt, std::uint64_t number, AcquireOptions const& options = {})
    {
        start(attempt, lock, options);
        return stand(number);
    }
    ClaimRequest stand(std::uint64_t number)
    {
        auto request = answer_claim(in_line(number));
        notify(WatchEvent::in_force);
        (void)answer_claim(in_line(number));
        REQUIRE(backend->claims.empty());
        return request;
    }
    void cancel(Attempt<Lease>& attempt) const
    {
        attempt.cancel.emit(asio::cancellation_type::terminal);
        runtime->run_ready();
    }
};

} // namespace

TEST_CASE("the first claim of a fair lock takes a place if it finds others, and that of a try takes none")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    SECTION("an acquisition")
    {
        test.start(attempt, test.lock);
        auto const request = test.answer_claim(test.grant(3s));
        CHECK(request.share == Share());
        CHECK(request.waits == Waits::in_line);
        CHECK(request.range->shares);
        CHECK_FALSE(request.earliest_attempt);
        CHECK(attempt.error == error_code());
        CHECK(test.backend->watching == 0);
    }
    SECTION("a try")
    {
        test.start(attempt, test.lock, {.wait = 0ms});
        CHECK(test.answer_claim(Busy{}).waits == Waits::no);
        CHECK(attempt.error == errc::timed_out);
        CHECK(test.backend->withdrawals.empty());
    }
}

TEST_CASE("a waiter asks for its place a third of the ttl after each answer")
{
    PlaceTest test;
    // a long pause between polls must not cost a place
    Lock const slow(*test.store, {.key = "k", .ttl = 3s, .lease = {.max_poll_interval = 60s}, .fair = true});
    Attempt<Lease> attempt;
    test.start(attempt, slow);
    auto const first = test.stand(7);
    for (int round = 0; round < 3; ++round) {
        test.runtime->run_for(990ms);
        CHECK(test.backend->claims.empty());
        test.runtime->run_for(20ms);
        auto const again = test.answer_claim(test.in_line(7));
        CHECK(again.owner == first.owner);
        CHECK(again.earliest_attempt);
    }
    test.cancel(attempt);
}

TEST_CASE("a waiter asks when a place ahead may have lapsed")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    test.start(attempt, test.lock);
    auto busy = test.in_line(7);
    busy.earliest_expiry = 100ms;
    (void)test.answer_claim(busy);
    test.runtime->run_for(100ms);
    CHECK(test.backend->claims.empty());
    test.runtime->run_for(15ms);
    (void)test.answer_claim(test.grant(3s));
    CHECK(attempt.error == error_code());
}

TEST_CASE("a message with the number of a place is its grant")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    (void)test.stand(attempt, 7);
    auto const asked = test.runtime->now();
    test.runtime->run_for(500ms);
    test.notify(WatchEvent::our_turn, {5, 7});
    CHECK(test.backend->claims.empty());
    REQUIRE(attempt.error == error_code());
    CHECK(attempt.holding.fencing_token() == 7);
    CHECK(attempt.holding.valid_until() == asked + 3s - 30ms - 10ms);
}

TEST_CASE("a message that comes when the place may have lapsed, or names another one, is no grant")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    (void)test.stand(attempt, 7);
    SECTION("too late")
    {
        test.runtime->skip(2700ms);
        test.notify(WatchEvent::our_turn, {7});
        CHECK_FALSE(attempt.error);
        CHECK_FALSE(test.backend->claims.empty());
    }
    SECTION("another one's")
    {
        test.notify(WatchEvent::our_turn, {6});
        CHECK_FALSE(attempt.error);
        CHECK(test.backend->claims.empty());
    }
    test.cancel(attempt);
}

TEST_CASE("a lapsed place is counted")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    (void)test.stand(attempt, 7);
    test.runtime->run_for(1010ms);
    (void)test.answer_claim(test.in_line(9));
    CHECK(test.store->statistics().places_lost == 1);
    test.runtime->run_for(1010ms);
    auto granted = test.grant(3s);
    granted.fencing_token = 12;
    (void)test.answer_claim(granted);
    CHECK(attempt.error == error_code());
    CHECK(test.store->statistics().places_lost == 2);
}

TEST_CASE("one waiter of a process has a place at a fair lock, and the next one gets its own after it")
{
    PlaceTest test;
    std::array<Attempt<Lease>, 2> attempts;
    (void)test.stand(attempts[0], 7);
    test.start(attempts[1], test.lock);
    CHECK(test.backend->claims.empty());
    test.notify(WatchEvent::our_turn, {7});
    CHECK(attempts[0].error == error_code());
    auto const next = test.answer_claim(test.in_line(8));
    CHECK(next.waits == Waits::in_line);
    CHECK_FALSE(next.earliest_attempt);
    CHECK(next.owner != attempts[0].holding.owner());
    test.notify(WatchEvent::our_turn, {8});
    CHECK(attempts[1].error == error_code());
}

TEST_CASE("16 readers of a process have places, and a writer behind them has none")
{
    PlaceTest test;
    ReadWriteLock const lock(*test.store, {.key = "k", .ttl = 3s});
    std::deque<Attempt<Lease>> readers(17);
    Attempt<Lease> writer;
    for (std::size_t i = 0; i < 15; ++i)
        test.start(readers[i], lock.read_lock());
    CHECK(test.backend->claims.size() == 15);
    SECTION("a sixteenth and a seventeenth reader")
    {
        test.start(readers[15], lock.read_lock());
        test.start(readers[16], lock.read_lock());
        CHECK(test.backend->claims.size() == 16);
    }
    SECTION("a writer, and a reader behind it")
    {
        test.start(writer, lock.write_lock());
        test.start(readers[15], lock.read_lock());
        CHECK(test.backend->claims.size() == 15);
        for (std::uint64_t i = 0; i < 15; ++i) {
            CHECK(test.answer_claim(test.grant(3s)).share == Share{.weight = 1, .capacity = Share::all});
            CHECK(readers[i].error == error_code());
        }
        REQUIRE(test.backend->claims.size() == 1);
        CHECK(test.backend->claims.front().request.share == Share{.weight = Share::all, .capacity = Share::all});
    }
    for (auto& reader : readers)
        test.cancel(reader);
    test.cancel(writer);
}

TEST_CASE("a waiter that gives up withdraws its place")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    auto const request = test.stand(attempt, 7);
    test.cancel(attempt);
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == request.owner);
    CHECK(test.backend->withdrawals.front().request.range->shares);
}

TEST_CASE("the next waiter of the process inherits the place of one that gives up")
{
    PlaceTest test;
    std::array<Attempt<Lease>, 2> attempts;
    auto const first = test.stand(attempts[0], 7, {.wait = 1500ms});
    test.start(attempts[1], test.lock);
    test.runtime->run_for(1010ms);
    (void)test.answer_claim(test.in_line(7));
    test.runtime->run_for(500ms);
    CHECK(attempts[0].error == errc::timed_out);
    CHECK(test.backend->withdrawals.empty());
    REQUIRE(test.backend->claims.size() == 1);
    CHECK(test.backend->claims.front().request.owner == first.owner);
    CHECK(test.backend->claims.front().request.earliest_attempt);
    SECTION("it holds by an answer")
    {
        auto granted = test.grant(3s);
        granted.fencing_token = 7;
        (void)test.answer_claim(granted);
    }
    SECTION("it holds by a message, which is faster")
    {
        test.notify(WatchEvent::our_turn, {7});
    }
    CHECK(attempts[1].error == error_code());
    CHECK(attempts[1].holding.fencing_token() == 7);
}

TEST_CASE("waiters whose waits end at one instant pass the place on and withdraw it once")
{
    PlaceTest test;
    std::array<Attempt<Lease>, 3> attempts;
    auto const first = test.stand(attempts[0], 7, {.wait = 900ms});
    test.start(attempts[1], test.lock, {.wait = 900ms});
    test.start(attempts[2], test.lock, {.wait = 900ms});
    test.runtime->run_for(900ms);
    for (auto const& attempt : attempts)
        CHECK(attempt.error == errc::timed_out);
    CHECK(test.backend->claims.empty());
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == first.owner);
}

TEST_CASE("a place is not inherited by a waiter that asks for something else, and not while a claim is pending")
{
    PlaceTest test;
    std::array<Attempt<Lease>, 2> attempts;
    auto const first = test.stand(attempts[0], 7);
    SECTION("another ttl")
    {
        test.start(attempts[1], test.lock, {.ttl = 2s});
    }
    SECTION("a pending claim")
    {
        test.start(attempts[1], test.lock);
        test.notify(WatchEvent::hint);
    }
    SECTION("an unknown claim")
    {
        test.start(attempts[1], test.lock);
        test.notify(WatchEvent::hint);
        (void)test.answer_claim(Failure::unknown(make_error_code(errc::store_unavailable), "lost"));
    }
    test.cancel(attempts[0]);
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == first.owner);
    REQUIRE_FALSE(test.backend->claims.empty());
    CHECK(test.backend->claims.back().request.owner != first.owner);
    test.cancel(attempts[1]);
}

TEST_CASE("the place of a late answer is withdrawn")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    test.start(attempt, test.lock);
    auto const owner = test.backend->claims.front().request.owner;
    test.cancel(attempt);
    CHECK(test.backend->withdrawals.empty());
    (void)test.answer_claim(test.in_line(7));
    REQUIRE(test.backend->withdrawals.size() == 1);
    CHECK(test.backend->withdrawals.front().request.owner == owner);
}

TEST_CASE("a late answer does not end the lease that a message has granted")
{
    PlaceTest test;
    Attempt<Lease> attempt;
    (void)test.stand(attempt, 7);
    test.notify(WatchEvent::hint);
    REQUIRE(test.backend->claims.size() == 1);
    test.notify(WatchEvent::our_turn, {7});
    REQUIRE(attempt.error == error_code());
    SECTION("it says that the place waited")
    {
        (void)test.answer_claim(test.in_line(7));
        CHECK(test.backend->withdrawals.empty());
    }
    SECTION("it grants the place")
    {
        auto granted = test.grant(3s);
        granted.fencing_token = 7;
        (void)test.answer_claim(granted);
        CHECK(test.backend->releases.empty());
    }
    SECTION("the lease was released before")
    {
        attempt.holding = Lease();
        test.runtime->run_ready();
        (void)test.answer_claim(test.in_line(9));
        CHECK(test.backend->withdrawals.size() == 1);
    }
    CHECK(attempt.error == error_code());
}

TEST_CASE("waiters of shares poll where they get no messages")
{
    PlaceTest test;
    Lock const quiet(*test.store, {.key = "k", .ttl = 60s, .lease = {.notifications = false}, .fair = true});
    Attempt<Lease> attempt;
    test.start(attempt, quiet);
    CHECK(test.answer_claim(test.in_line(7)).waits == Waits::in_line);
    CHECK(test.backend->watching == 0);
    // as waiters without hints do
    test.runtime->run_for(260ms);
    CHECK(test.backend->claims.size() == 1);
    test.cancel(attempt);
}

TEST_CASE("a semaphore takes as many permits as an acquisition asks for")
{
    PlaceTest test;
    Semaphore const semaphore(*test.store, {.key = "s", .permits = 5, .ttl = 3s});
    CHECK(semaphore.permits() == 5);
    CHECK(semaphore.key() == "s");
    Attempt<Lease> attempt;
    test.start(attempt, semaphore, {.permits = 3});
    CHECK(test.answer_claim(test.grant(3s)).share == Share{.weight = 3, .capacity = 5});
    for (std::uint32_t const wrong : {0U, 6U}) {
        Attempt<Lease> refused;
        test.start(refused, semaphore, {.permits = wrong});
        CHECK(refused.error == boost::system::errc::invalid_argument);
    }
    Attempt<Lease> of_lock;
    test.start(of_lock, test.lock, {.permits = 2});
    CHECK(of_lock.error == boost::system::errc::invalid_argument);
    CHECK(test.backend->claims.empty());
    CHECK(documented("AcquireOptions::permits is 6: this Semaphore takes 1 to 5"));
    CHECK(documented(
        "AcquireOptions::permits is 2: only a Semaphore of several permits takes another number than 1; leave it out"));
    CHECK(test.runtime->logged("this Semaphore takes 1 to 5") == 2);
    CHECK(test.runtime->logged("only a Semaphore of several permits takes another number than 1; leave it out") == 1);
}

TEST_CASE("shares are refused with the words of a store that has none")
{
    using Catch::Matchers::Equals;
    PlaceTest test;
    // capabilities are read once, when the store is opened
    auto const backend = std::make_shared<ScriptedBackend>(test.runtime);
    backend->no_shares = "several servers would order the places differently";
    Store const store(test.runtime, backend, StoreOptions{"worker", {}});
    auto const words = [](std::string const& config) {
        return Equals(
            config + ": scripted:// cannot hold a key in places, in the order of waiters: several servers would order "
                     "the places differently; use another store, or a plain Lock or SlotPool");
    };
    CHECK_THROWS_WITH(Lock(store, {.key = "k", .fair = true}), words("LockConfig"));
    CHECK_THROWS_WITH(ReadWriteLock(store, {.key = "k"}), words("ReadWriteLockConfig"));
    CHECK_THROWS_WITH(Semaphore(store, {.key = "k", .permits = 2}), words("SemaphoreConfig"));
    CHECK_THROWS_WITH(Election(store, {.name = "k", .fair = true}), words("ElectionConfig"));
    CHECK_NOTHROW(Lock(store, {.key = "k"}));
}

TEST_CASE("configs of shares are checked")
{
    using Catch::Matchers::Equals;
    PlaceTest test;
    CHECK_THROWS_WITH(
        Semaphore(*test.store, {.key = "k", .permits = 0}), Equals("SemaphoreConfig::permits is 0: 1 to 1000000"));
    CHECK_THROWS_WITH(
        Semaphore(*test.store, {.key = "k", .permits = 1'000'001}),
        Equals("SemaphoreConfig::permits is 1000001: 1 to 1000000"));
    CHECK_THROWS_WITH(
        Lock(*test.store, {.key = "k", .fair = true, .reuse_after = 5ms}),
        Equals("LockConfig::reuse_after is 5 ms: a fair lock has none; leave it out, or set fair to false"));
    CHECK_THROWS_WITH(
        ReadWriteLock(*test.store, {.key = ""}), Equals("ReadWriteLockConfig::key is \"\": it must not be empty"));
}

TEST_CASE("a lock with a delay asks for its key to rest")
{
    PlaceTest test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s, .reuse_after = 500ms});
    Attempt<Lease> attempt;
    test.start(attempt, lock);
    CHECK(test.answer_claim(test.grant(3s)).reuse_after == 500ms);
    attempt.holding = Lease();
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.backend->releases.front().request.claim->reuse_after == 500ms);
}

} // namespace tenure::test
