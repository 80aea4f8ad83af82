// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Metrics of a store: its leases by lock and pool, and its requests.
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/metrics.hpp>

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

struct MetricsTest : ScriptedStore {
    [[nodiscard]] NameMetrics of(std::string const& name) const
    {
        auto const all = store->metrics().names;
        auto const found = std::ranges::find(all, name, &NameMetrics::name);
        return found == all.end() ? NameMetrics() : *found;
    }
    [[nodiscard]] RequestMetrics of(RequestKind kind) const
    {
        return store->metrics().requests[static_cast<std::size_t>(kind)];
    }
    [[nodiscard]] std::uint64_t count_of(RequestKind kind, RequestOutcome outcome) const
    {
        return of(kind).by_outcome[static_cast<std::size_t>(outcome)];
    }

    template <class Source>
    void acquire(Attempt<Lease>& attempt, Source const& source, std::chrono::milliseconds answer_takes = 0ms)
    {
        attempt.start(source);
        runtime->run_ready();
        runtime->run_for(answer_takes);
        backend->answer(backend->claims, grant(3s));
        runtime->run_ready();
        REQUIRE(attempt.error == error_code());
    }
    void release(Attempt<Lease>& attempt, std::chrono::milliseconds answer_takes = 0ms)
    {
        attempt.holding = Lease();
        runtime->run_ready();
        runtime->run_for(answer_takes);
        backend->answer(backend->releases, Released{});
        runtime->run_ready();
    }

    Lock lock{*store, {.key = "k", .ttl = 3s}};
};

std::vector<std::uint64_t> counts(Distribution const& distribution)
{
    return {distribution.buckets.begin(), distribution.buckets.end()};
}

/** A distribution of this one duration. */
std::vector<std::uint64_t> one(std::chrono::nanoseconds duration)
{
    std::vector<std::uint64_t> all(Distribution::bounded + 1);
    all[Distribution::bucket_of(duration)] = 1;
    return all;
}

} // namespace

TEST_CASE("waiting, holding and the margin of renewals are counted for the lock", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> attempt;
    test.acquire(attempt, test.lock, 40ms);
    CHECK(test.of("k").kind == NameMetrics::Kind::lock);
    CHECK(test.of("k").ttl == 3s);
    CHECK(test.of("k").held == 1);
    CHECK(test.of("k").waiting == 0);
    CHECK(counts(test.of("k").waiting_time) == one(40ms));
    CHECK(test.of("k").waiting_time.sum == 40ms);
    CHECK(test.of("k").holding_time.count() == 0);

    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, Renewed{3s, test.runtime->now()});
    test.runtime->run_ready();
    CHECK(test.of("k").renewal_margin.sum == test.store->statistics().min_renewal_margin);
    CHECK(counts(test.of("k").renewal_margin) == one(test.store->statistics().min_renewal_margin));

    test.release(attempt);
    CHECK(test.of("k").held == 0);
    CHECK(test.of("k").holding_time.count() == 1);
    CHECK(test.of("k").holding_time.sum >= 1s);
    CHECK(test.of("k").holding_time.sum < 1s + 1ms);
}

TEST_CASE("the holding time of a lost lease ends with its loss", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> attempt;
    test.acquire(attempt, test.lock);
    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    CHECK(test.of("k").lost[CancelReason::not_owner] == 1);
    CHECK(test.of("k").held == 0);
    auto const held = test.of("k").holding_time;
    CHECK(held.count() == 1);
    // the work goes on for a while
    test.runtime->run_for(20s);
    attempt.holding = Lease();
    test.runtime->run_ready();
    CHECK(test.of("k").holding_time.sum == held.sum);
    CHECK(test.of("k").holding_time.count() == 1);
    CHECK(test.of("k").lost[CancelReason::not_owner] == 1);
}

TEST_CASE("leases that a closing store takes away are counted as lost, once", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> attempt;
    test.acquire(attempt, test.lock);
    test.store->async_close(10ms, [](error_code) {});
    test.runtime->run_for(1s);
    CHECK(attempt.holding.token().reason() == CancelReason::store_closed);
    attempt.holding = Lease();
    test.runtime->run_ready();
    CHECK(test.of("k").lost[CancelReason::store_closed] == 1);
    CHECK(test.store->statistics().lost[CancelReason::store_closed] == 1);
    CHECK(test.of("k").holding_time.count() == 1);
    CHECK(test.of("k").held == 0);
}

TEST_CASE("locks and pools are told apart, and their numbers add up to those of the store", "[metrics]")
{
    MetricsTest test;
    SlotPool const pool(*test.store, {.prefix = "k", .size = 4, .ttl = 5s});
    Lock const again(*test.store, {.key = "k", .ttl = 4s});
    Attempt<Lease> first;
    Attempt<Lease> second;
    test.acquire(first, test.lock);
    test.acquire(second, again);
    Attempt<Slot> slot;
    slot.start(pool);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, test.grant(5s, 2));
    test.runtime->run_ready();
    REQUIRE(slot.error == error_code());

    auto const metrics = test.store->metrics();
    REQUIRE(metrics.names.size() == 2);
    CHECK(metrics.names[0].held == 2);
    // of the lock that was made last
    CHECK(metrics.names[0].ttl == 4s);
    CHECK(metrics.names[1].kind == NameMetrics::Kind::pool);
    CHECK(metrics.names[1].held == 1);
    CHECK(metrics.totals.held == 3);
    CHECK(metrics.totals.acquired == 3);
}

TEST_CASE("the number of names is bounded, and further ones are added up", "[metrics]")
{
    MetricsTest test;
    std::vector<Lock> locks;
    for (std::size_t number = 0; number < StoreMetrics::most_names + 20; ++number)
        locks.emplace_back(*test.store, LockConfig{.key = "many:" + std::to_string(number), .ttl = 3s});
    auto const names = test.store->metrics().names;
    REQUIRE(names.size() == StoreMetrics::most_names + 1);
    CHECK(names.front().name == "k");
    CHECK(names.back().kind == NameMetrics::Kind::other);
    CHECK(names.back().name.empty());

    Attempt<Lease> first;
    Attempt<Lease> second;
    test.acquire(first, locks[StoreMetrics::most_names]);
    test.acquire(second, locks.back());
    CHECK(test.store->metrics().names.back().held == 2);
    test.acquire(first, locks.front());
    CHECK(test.of("many:0").held == 1);
}

TEST_CASE("an acquisition without a lease is counted by how it ended", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> busy;
    busy.start(test.lock, {.wait = 0ms});
    test.runtime->run_ready();
    CHECK(test.of("k").waiting == 1);
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();
    Attempt<Lease> cancelled;
    cancelled.start(test.lock);
    test.runtime->run_ready();
    cancelled.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    Attempt<Lease> failed;
    failed.start(test.lock);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.backend->answer(test.backend->claims, Failure::refused(make_error_code(errc::permission_denied), "no", true));
    test.runtime->run_ready();
    auto const name = test.of("k");
    CHECK(name.busy == 1);
    CHECK(name.cancelled == 1);
    CHECK(name.failed == 1);
    CHECK(name.waiting == 0);
    CHECK(name.waiting_time.count() == 0);
}

TEST_CASE("a hand-over counts from the release to the grant of the waiter", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> holder;
    test.acquire(holder, test.lock);
    CHECK(test.of("k").hand_over.count() == 0);
    Attempt<Lease> waiter;
    waiter.start(test.lock);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_for(10ms);
    test.backend->watch_handler(WatchEvent::in_force);
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{});
    test.runtime->run_ready();

    auto const check_hand_over = [&](std::chrono::milliseconds took) {
        REQUIRE(test.backend->claims.size() == 1);
        test.grant_claim(3s);
        CHECK(test.of("k").hand_over.sum == took);
    };
    SECTION("of this store")
    {
        test.release(holder, 5ms);
        test.runtime->run_for(7ms);
        check_hand_over(12ms);
    }
    SECTION("of another program, from its notification")
    {
        test.backend->watch_handler(WatchEvent::hint);
        test.runtime->run_for(9ms);
        check_hand_over(9ms);
    }
    SECTION("that another program was faster to take is none")
    {
        test.backend->watch_handler(WatchEvent::hint);
        test.runtime->run_for(9ms);
        test.backend->answer(test.backend->claims, Busy{.earliest_expiry = 20ms});
        test.runtime->run_for(100ms);
        test.grant_claim(3s);
        REQUIRE(waiter.error == error_code());
        CHECK(test.of("k").hand_over.count() == 0);
    }
    REQUIRE(waiter.error == error_code());
}

TEST_CASE("the requests of a store are counted by outcome, and answers are timed", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> attempt;
    test.acquire(attempt, test.lock, 40ms);
    CHECK(test.count_of(RequestKind::claim, RequestOutcome::done) == 1);
    CHECK(counts(test.of(RequestKind::claim).round_trip) == one(40ms));

    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 1);
    test.runtime->run_for(30ms);
    test.backend->answer(test.backend->renewals, Failure::unknown(make_error_code(errc::store_unavailable), "cut off"));
    test.runtime->run_ready();
    CHECK(test.count_of(RequestKind::renew, RequestOutcome::unanswered) == 1);
    CHECK(test.of(RequestKind::renew).round_trip.count() == 0);
    test.runtime->run_for(100ms);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, Renewed{3s, test.runtime->now()});
    test.runtime->run_ready();
    CHECK(test.count_of(RequestKind::renew, RequestOutcome::done) == 1);
    CHECK(test.of(RequestKind::renew).round_trip.count() == 1);
    CHECK(test.of(RequestKind::renew).round_trip.sum == 100ms);

    test.release(attempt, 20ms);
    CHECK(test.count_of(RequestKind::release, RequestOutcome::done) == 1);
    CHECK(counts(test.of(RequestKind::release).round_trip) == one(20ms));
}

TEST_CASE("of releases every eighth is timed, and all are counted", "[metrics]")
{
    MetricsTest test;
    for (int round = 0; round < 17; ++round) {
        Attempt<Lease> attempt;
        test.acquire(attempt, test.lock);
        test.release(attempt);
    }
    CHECK(test.count_of(RequestKind::release, RequestOutcome::done) == 17);
    CHECK(test.of(RequestKind::release).round_trip.count() == 3);
}

TEST_CASE("a request that its owner gave up is not counted", "[metrics]")
{
    MetricsTest test;
    Attempt<Lease> attempt;
    attempt.start(test.lock, {.wait = 100ms});
    test.runtime->run_for(95ms);
    REQUIRE_FALSE(test.backend->claims.empty());
    test.backend->answer(test.backend->claims, Failure::dropped());
    test.runtime->run_for(1s);
    auto const claims = test.of(RequestKind::claim).by_outcome;
    CHECK(std::accumulate(claims.begin(), claims.end(), std::uint64_t{0}) == 0);
}

} // namespace tenure::test
