// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

/** A store with one lease of 3 s that was granted now. */
struct HeldLease : ScriptedStore {
    explicit HeldLease(LeaseOptions const& options = {})
        : lock(std::in_place, *store, LockConfig{"k", 3s, options})
    {
        Attempt<Lease> attempt;
        acquire_at_once(attempt, *lock, 3s);
        REQUIRE(attempt.error == error_code());
        lease = std::move(attempt.holding);
        token = lease.token();
    }

    std::optional<Lock> lock;
    Lease lease;
    CancellationToken token;
};

Renewed renewed(ScriptedStore const& test)
{
    return {3s, test.runtime->now()};
}

} // namespace

TEST_CASE("a lease is renewed at a third of its ttl, and held as long as the store answers")
{
    HeldLease test;
    for (int round = 0; round < 20; ++round) {
        test.runtime->run_for(1s);
        REQUIRE(test.backend->renewals.size() == 1);
        test.backend->answer(test.backend->renewals, renewed(test));
        test.runtime->run_ready();
        CHECK(test.lease.state() == LeaseState::held);
    }
    CHECK_FALSE(test.token.cancelled());
    CHECK(test.store->statistics().renewals == 20);
}

TEST_CASE("a token that is read before its timer has run gives the reason that the timer would have had")
{
    SECTION("nobody renewed it")
    {
        HeldLease const test;
        test.runtime->skip(3s);
        CHECK(test.token.reason() == CancelReason::expired);
    }
    SECTION("it was held long enough")
    {
        HeldLease const test(LeaseOptions{.max_hold = 500ms});
        test.runtime->skip(501ms);
        CHECK(test.token.reason() == CancelReason::max_hold);
    }
}

TEST_CASE("a loss that its holder saw before any timer did is counted and logged when the lease is released")
{
    HeldLease test;
    test.runtime->skip(3s);
    REQUIRE(test.token.cancelled());
    test.lease.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    CHECK(test.store->statistics().lost[CancelReason::expired] == 1);
    CHECK(test.runtime->logged("is lost (no renewal succeeded in time)") == 1);
}

TEST_CASE("the margin of renewals is that of answers that count")
{
    HeldLease test;
    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 1);
    std::optional<error_code> renewed_by_hand;
    test.lease.async_renew(5s, [&](error_code error) { renewed_by_hand = error; });
    test.runtime->run_ready();
    REQUIRE(test.backend->renewals.size() == 2);
    // the one of before: it says that the key is held, but not for how long
    test.backend->answer(test.backend->renewals, renewed(test));
    test.runtime->run_ready();
    CHECK(test.store->statistics().renewals == 0);
    test.backend->answer(test.backend->renewals, Renewed{5s, test.runtime->now()});
    test.runtime->run_ready();
    CHECK(renewed_by_hand == error_code());
    CHECK(test.store->statistics().renewals == 1);
    CHECK(test.store->statistics().min_renewal_margin > 1s);
}

namespace
{

/** Leases of 3 s that were granted at the same time. */
struct HeldTogether : ScriptedStore {
    HeldTogether()
    {
        for (auto& attempt : attempts)
            attempt.start(Lock(*store, {.key = "k" + std::to_string(&attempt - attempts.data()), .ttl = 3s}));
        runtime->run_ready();
        for (std::size_t i = 0; i < attempts.size(); ++i)
            backend->answer(backend->claims, grant(3s));
        runtime->run_ready();
    }

    std::array<Attempt<Lease>, 3> attempts;
};

} // namespace

TEST_CASE("leases that are due together are renewed in one call, and each by its own answer")
{
    HeldTogether test;
    test.runtime->run_for(1s);
    CHECK(test.backend->renew_calls == 1);
    REQUIRE(test.backend->renewals.size() == 3);
    auto const lost = test.backend->answer(test.backend->renewals, NotOwner{}).claim->key();
    test.runtime->run_ready();
    for (auto const& attempt : test.attempts)
        CHECK(attempt.holding.valid() == (attempt.holding.key() != lost));
    // the other two are not answered yet
    CHECK(test.store->statistics().renewals == 0);
    test.backend->answer(test.backend->renewals, renewed(test));
    test.backend->answer(test.backend->renewals, renewed(test));
    test.runtime->run_ready();
    CHECK(test.store->statistics().renewals == 2);
}

TEST_CASE("a store that throws when it is asked to renew is asked again after a while")
{
    HeldTogether test;
    test.backend->renew_throws = true;
    CHECK_THROWS_AS(test.runtime->run_for(1s), std::runtime_error);
    CHECK(test.backend->renewals.empty());
    test.backend->renew_throws = false;
    test.runtime->run_for(1s);
    CHECK(test.backend->renewals.size() >= 3);
    for (auto const& attempt : test.attempts)
        CHECK(attempt.holding.valid());
}

TEST_CASE("a mistake in options is logged on the store's strand, not inside the call")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    std::optional<error_code> error;
    lock.async_acquire({.wait = -1ms}, [&](error_code failure, Lease const&) { error = failure; });
    CHECK(test.runtime->logged("AcquireOptions::wait") == 0);
    test.runtime->run_ready();
    CHECK(test.runtime->logged("AcquireOptions::wait is -1 ms: 0 or more") == 1);
    CHECK(error == error_code(boost::system::errc::make_error_code(boost::system::errc::invalid_argument)));
}

TEST_CASE("a release is asked again for as long as an unanswered renewal may keep the key")
{
    HeldLease test;
    test.lease.async_renew(10s, [](error_code) {});
    test.runtime->run_ready();
    test.lease.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    std::size_t asked = 0;
    auto const begun = test.runtime->now();
    Instant last_asked{};
    while (test.runtime->now() < begun + 15s) {
        while (!test.backend->releases.empty()) {
            ++asked;
            last_asked = test.runtime->now();
            test.backend->answer(
                test.backend->releases, Failure::unknown(make_error_code(errc::store_unavailable), "no answer"));
            test.runtime->run_ready();
        }
        test.runtime->run_for(5ms);
    }
    CHECK(asked > 10);
    CHECK(last_asked > begun + 9s);
    CHECK(last_asked <= begun + 10s);
}

TEST_CASE("without answers the token fires by valid_until less the notice, and validity never moves")
{
    HeldLease test;
    auto const until = test.lease.valid_until();
    std::optional<Instant> fired;
    test.token.async_wait([&](error_code error) {
        CHECK_FALSE(error);
        fired = test.runtime->now();
    });
    while (!fired && test.runtime->now() < until) {
        test.runtime->run_for(5ms);
        while (!test.backend->renewals.empty())
            test.backend->answer(
                test.backend->renewals, Failure::unknown(make_error_code(errc::store_unavailable), "no answer"));
    }
    REQUIRE(fired);
    CHECK(*fired == until - 300ms);
    CHECK(test.lease.valid_until() == until);
    CHECK(test.token.reason() == CancelReason::expired);
    CHECK(test.lease.state() == LeaseState::lost);
    // the lease itself still holds: this is the time to stop the work
    CHECK(test.lease.valid());
    test.runtime->skip(300ms);
    CHECK_FALSE(test.lease.valid());
}

TEST_CASE("a proven loss fires at once")
{
    HeldLease test;
    test.runtime->run_for(1s);
    test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    CHECK(test.token.cancelled());
    CHECK(test.token.reason() == CancelReason::not_owner);
    CHECK_FALSE(test.lease.valid());
    CHECK(test.store->statistics().lost[CancelReason::not_owner] == 1);
    CHECK(test.runtime->logged("is lost") == 1);
}

TEST_CASE("a holder that was stopped sees the truth before any timer has run")
{
    HeldLease test;
    test.runtime->skip(2 * 3s);
    CHECK_FALSE(test.lease.valid());
    CHECK(test.token.cancelled());
    CHECK(test.token.reason() == CancelReason::expired);
    // and a renewal's answer that was waiting in a socket does not revive it
    test.runtime->run_ready();
    while (!test.backend->renewals.empty())
        test.backend->answer(test.backend->renewals, renewed(test));
    test.runtime->run_ready();
    CHECK(test.token.cancelled());
    CHECK_FALSE(test.lease.valid());
    CHECK(test.store->statistics().lost[CancelReason::expired] == 1);
}

TEST_CASE("a lease is not renewed once its release has begun, and waiters for the token are notified")
{
    HeldLease test;
    std::optional<error_code> waited;
    test.token.async_wait([&](error_code error) { waited = error; });
    std::optional<ReleaseOutcome> outcome;
    test.lease.async_release([&](error_code, ReleaseOutcome result) { outcome = result; });
    test.runtime->run_ready();
    CHECK(waited == error_code());
    CHECK(test.token.reason() == CancelReason::released);
    CHECK_FALSE(test.lease.valid());
    CHECK(test.lease.state() == LeaseState::released);
    REQUIRE(test.backend->releases.size() == 1);
    test.backend->answer(test.backend->releases, Released{});
    test.runtime->run_ready();
    CHECK(outcome == ReleaseOutcome::released);
    test.runtime->run_for(10s);
    CHECK(test.backend->renewals.empty());
    CHECK(test.token.reason() == CancelReason::released);
    auto const statistics = test.store->statistics();
    CHECK(statistics.lost.total() == 0);
}

TEST_CASE("destroying a lease releases it in the background")
{
    HeldLease test;
    test.lease = Lease();
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.store->statistics().held == 0);
}

TEST_CASE("a release without an answer is repeated, reported as unconfirmed, and finished in the background")
{
    HeldLease test;
    std::optional<ReleaseOutcome> outcome;
    test.lease.async_release([&](error_code, ReleaseOutcome result) { outcome = result; });
    test.runtime->run_ready();
    test.backend->answer(test.backend->releases, Failure::unknown(make_error_code(errc::store_unavailable), "cut"));
    test.runtime->run_for(100ms);
    REQUIRE(test.backend->releases.size() == 1);
    CHECK_FALSE(outcome);
    test.runtime->run_for(1100ms);
    CHECK(outcome == ReleaseOutcome::unconfirmed);
    // the first request had freed it: the second one finds the key not ours, and that is a success
    while (!test.backend->releases.empty())
        test.backend->answer(test.backend->releases, NotOwner{});
    test.runtime->run_ready();
    CHECK(test.store->statistics().released == 1);
    CHECK(test.store->statistics().released_not_owner == 0);
}

TEST_CASE("releasing a lease that another owner has taken is an outcome, not an error")
{
    HeldLease test;
    std::optional<error_code> error;
    std::optional<ReleaseOutcome> outcome;
    test.lease.async_release([&](error_code failure, ReleaseOutcome result) {
        error = failure;
        outcome = result;
    });
    test.runtime->run_ready();
    test.backend->answer(test.backend->releases, NotOwner{});
    test.runtime->run_ready();
    CHECK(error == error_code());
    CHECK(outcome == ReleaseOutcome::was_lost);
    CHECK(test.store->statistics().released_not_owner == 1);
}

TEST_CASE("a failed renewal puts the lease at risk, and the work goes on")
{
    HeldLease test;
    std::optional<error_code> warned;
    test.lease.async_wait_at_risk([&](error_code error) { warned = error; });
    test.runtime->run_for(1s);
    test.backend->answer(
        test.backend->renewals, Failure::refused(make_error_code(errc::store_refused), "MISCONF: disk full"));
    test.runtime->run_ready();
    CHECK(warned == error_code());
    CHECK(test.lease.state() == LeaseState::at_risk);
    CHECK_FALSE(test.token.cancelled());
    // asked again at once
    test.runtime->run_for(1ms);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, renewed(test));
    test.runtime->run_ready();
    CHECK(test.lease.state() == LeaseState::held);
}

TEST_CASE("leases that were renewed together are renewed together again, however long the ttl")
{
    ScriptedStore test;
    std::array<Attempt<Lease>, 2> attempts;
    for (std::size_t number = 0; number < attempts.size(); ++number) {
        Lock const lock(*test.store, {.key = "k" + std::to_string(number), .ttl = 30s});
        attempts[number].start(lock);
        test.runtime->run_ready();
        test.backend->answer(test.backend->claims, test.grant(30s));
        test.runtime->run_ready();
    }
    for (int round = 0; round < 20; ++round) {
        for (int step = 0; step < 1000 && test.backend->renewals.empty(); ++step)
            test.runtime->run_for(10ms);
        // jitter moves them by up to a second, the keeper waits for others a tenth of that
        REQUIRE(test.backend->renewals.size() == attempts.size());
        while (!test.backend->renewals.empty())
            test.backend->answer(test.backend->renewals, Renewed{30s, test.runtime->now()});
        test.runtime->run_ready();
    }
}

TEST_CASE("one lease whose renewal fails does not touch another")
{
    HeldLease test;
    Lock const other(*test.store, {.key = "other", .ttl = 3s});
    Attempt<Lease> attempt;
    test.acquire_at_once(attempt, other, 3s);
    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 2);
    auto const first = test.backend->answer(test.backend->renewals, NotOwner{});
    test.backend->answer(test.backend->renewals, renewed(test));
    test.runtime->run_ready();
    bool const test_lease_was_first = first.claim->key() == "k";
    CHECK(test.token.cancelled() == test_lease_was_first);
    CHECK(attempt.holding.token().cancelled() != test_lease_was_first);
}

TEST_CASE("a lease renewed by hand tells the outcome of that renewal")
{
    LeaseOptions options;
    options.renewal = Renewal::manual;
    HeldLease test(options);
    test.runtime->run_for(2s);
    CHECK(test.backend->renewals.empty());
    std::optional<error_code> first;
    test.lease.async_renew([&](error_code error) { first = error; });
    test.runtime->run_ready();
    REQUIRE(test.backend->renewals.size() == 1);
    SECTION("success")
    {
        test.backend->answer(test.backend->renewals, renewed(test));
        test.runtime->run_ready();
        CHECK(first == error_code());
        CHECK(test.lease.valid_until() == test.runtime->now() + 3s - 40ms);
    }
    SECTION("failure")
    {
        test.backend->answer(
            test.backend->renewals, Failure::not_sent(make_error_code(errc::store_unavailable), "not connected"));
        test.runtime->run_ready();
        CHECK(first == make_error_code(errc::store_unavailable));
        CHECK_FALSE(test.token.cancelled());
    }
    SECTION("loss")
    {
        test.backend->answer(test.backend->renewals, NotOwner{});
        test.runtime->run_ready();
        CHECK(first == make_error_code(errc::lease_lost));
    }
    SECTION("a release comes first")
    {
        test.lease = Lease();
        test.runtime->run_ready();
        CHECK(first == make_error_code(errc::released));
    }
}

TEST_CASE("a standard stop token follows the token")
{
    HeldLease test;
    auto const stop = test.token.stop_token();
    bool called = false;
    std::stop_callback const callback(stop, [&] { called = true; });
    test.runtime->run_for(1s);
    test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    CHECK(stop.stop_requested());
    CHECK(called);
    CHECK(test.token.stop_token().stop_requested());
}

TEST_CASE("waiting for a token can be cancelled, and does not disturb other waits")
{
    HeldLease test;
    asio::cancellation_signal cancel;
    std::optional<error_code> cancelled;
    std::optional<error_code> other;
    test.token.async_wait(asio::bind_cancellation_slot(cancel.slot(), [&](error_code error) { cancelled = error; }));
    test.token.async_wait([&](error_code error) { other = error; });
    cancel.emit(asio::cancellation_type::total);
    test.runtime->run_ready();
    CHECK(cancelled == error_code(asio::error::operation_aborted));
    CHECK_FALSE(other);
    test.runtime->run_for(1s);
    test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    CHECK(other == error_code());
}

TEST_CASE("a failed renewal is sent again as soon as the store can be reached")
{
    HeldLease test;
    test.runtime->run_for(1s);
    for (int round = 0; round < 4; ++round) {
        REQUIRE_FALSE(test.backend->renewals.empty());
        test.backend->answer(
            test.backend->renewals, Failure::not_sent(make_error_code(errc::store_unavailable), "not connected"));
        test.runtime->run_ready();
        if (test.backend->renewals.empty() && round < 3)
            test.runtime->run_for(400ms);
    }
    test.runtime->run_ready();
    CHECK(test.backend->renewals.empty());
    test.backend->reachable();
    test.runtime->run_ready();
    CHECK(test.backend->renewals.size() == 1);
}

TEST_CASE("the store closes when the last object that uses it is gone, and not before")
{
    HeldLease test;
    test.lock.reset();
    test.store.reset();
    test.runtime->run_ready();
    CHECK(test.backend->shutdowns == 0);
    test.lease = Lease();
    test.runtime->run_ready();
    CHECK(test.backend->shutdowns == 0);
    test.answer_release();
    CHECK(test.backend->shutdowns == 1);
    // a token may outlive everything
    CHECK(test.token.reason() == CancelReason::released);
}

TEST_CASE("a context that is destroyed takes waiting handlers and what they own with it")
{
    auto const witness = std::make_shared<int>(0);
    {
        HeldLease test;
        // a handler that owns the very lease whose token it waits for
        auto owned = std::make_shared<Lease>(std::move(test.lease));
        test.token.async_wait([owned, witness](error_code) {});
        Attempt<Lease> never;
        never.start(*test.lock);
        test.runtime->run_ready();
        test.token = CancellationToken();
        owned.reset();
        CHECK(witness.use_count() == 2);
        test.runtime->discard();
        test.runtime->end_context();
    }
    CHECK(witness.use_count() == 1);
}

} // namespace tenure::test
