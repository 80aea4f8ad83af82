// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Which keys the engine lets rest after their use (SlotPoolConfig::reuse_after), and which it frees.
#include "unit/engine/second_try.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

struct RestingStore : ScriptedStore {
    SlotPool pool{*store, {.size = 4, .ttl = 3s, .reuse_after = 20s}};
    Attempt<Slot> attempt;

    [[nodiscard]] std::size_t releases() const { return backend->releases.size(); }
    [[nodiscard]] std::chrono::milliseconds rest_of_release() const
    {
        return backend->releases.front().request.claim->reuse_after;
    }
    [[nodiscard]] std::chrono::milliseconds rest_of_withdrawal() const
    {
        return backend->withdrawals.front().request.reuse_after;
    }
};

Failure no_answer()
{
    return Failure::unknown(make_error_code(errc::store_unavailable), "the connection broke");
}

} // namespace

TEST_CASE("a claim, its renewals and its release carry the pool's quarantine")
{
    RestingStore test;
    test.attempt.start(test.pool);
    test.runtime->run_ready();
    auto const asked = test.backend->answer(test.backend->claims, test.grant(3s));
    CHECK(asked.ttl == 3s);
    CHECK(asked.lifetime() == 23s);
    test.runtime->run_for(1s);
    REQUIRE(test.attempt.error == error_code());
    REQUIRE(test.backend->renewals.size() == 1);
    CHECK(test.backend->renewals.front().request.ttl == 3s);
    CHECK(test.backend->renewals.front().request.lifetime() == 23s);
    // the holder counts the ttl alone
    CHECK(test.attempt.holding.valid_until() < test.runtime->now() + 3s);
    test.attempt.holding.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    REQUIRE(test.releases() == 1);
    CHECK(test.rest_of_release() == 20s);
}

TEST_CASE("a lock has no quarantine")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    Attempt<Lease> attempt;
    attempt.start(lock);
    test.runtime->run_ready();
    CHECK(test.backend->answer(test.backend->claims, test.grant(3s)).lifetime() == 3s);
    test.runtime->run_ready();
    attempt.holding = {};
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.backend->releases.front().request.claim->reuse_after == 0s);
}

TEST_CASE("a key without a holder is given back without quarantine")
{
    RestingStore test;
    test.attempt.start(test.pool);
    test.runtime->run_ready();
    SECTION("a grant that comes after the acquisition was cancelled")
    {
        test.attempt.cancel.emit(asio::cancellation_type::total);
        test.runtime->run_ready();
        test.backend->answer(test.backend->claims, test.grant(3s, 2));
        test.runtime->run_ready();
        REQUIRE(test.releases() == 1);
        CHECK(test.rest_of_release() == 0s);
        // it is tried again through another connection
        test.runtime->run_for(1s);
        test.backend->reachable();
        test.runtime->run_ready();
        CHECK(test.releases() > 1);
    }
    SECTION("a claim without an answer of an acquisition that was cancelled")
    {
        test.attempt.cancel.emit(asio::cancellation_type::total);
        test.runtime->run_ready();
        test.backend->answer(test.backend->claims, no_answer());
        test.runtime->run_ready();
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.rest_of_withdrawal() == 0s);
    }
    SECTION("a grant that comes too late to be used")
    {
        auto late = test.grant(3s, 2);
        test.runtime->run_for(2900ms);
        test.backend->answer(test.backend->claims, std::move(late));
        test.runtime->run_ready();
        REQUIRE(test.releases() == 1);
        CHECK(test.rest_of_release() == 0s);
    }
    SECTION("a grant that the store does not confirm")
    {
        test.backend->answer(
            test.backend->claims, Unconfirmed{test.grant(3s, 2), make_error_code(errc::not_replicated), "", false});
        test.runtime->run_ready();
        REQUIRE(test.releases() == 1);
        CHECK(test.rest_of_release() == 0s);
    }
}

TEST_CASE("a second key of an acquisition, without a holder, is freed; the first one stays in quarantine")
{
    RestingStore test;
    auto late = acquire_at_the_second_try(test, test.attempt, test.pool);
    std::move(late.handler)(test.grant(3s, 0));
    test.runtime->run_ready();
    REQUIRE(test.releases() == 1);
    CHECK(test.backend->releases.front().request.claim->index == 0);
    CHECK(test.rest_of_release() == 0s);
    test.backend->answer(test.backend->releases, Released{});
    test.attempt.holding = {};
    test.runtime->run_ready();
    REQUIRE(test.releases() == 1);
    CHECK(test.backend->releases.front().request.claim->index == 1);
    CHECK(test.rest_of_release() == 20s);
}

TEST_CASE("a withdrawal that may find the held key lets it rest, because it may come to the store before the release")
{
    RestingStore test;
    auto late = acquire_at_the_second_try(test, test.attempt, test.pool);
    SECTION("a withdrawal of a second key, which goes out with the release")
    {
        std::move(late.handler)(ClaimReply(no_answer()));
        test.runtime->run_ready();
        test.attempt.holding = {};
        test.runtime->run_ready();
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.rest_of_withdrawal() == 20s);
    }
    SECTION("a withdrawal after a claim that ended without an answer when the lease was released")
    {
        test.attempt.holding = {};
        test.runtime->run_ready();
        std::move(late.handler)(ClaimReply(no_answer()));
        test.runtime->run_ready();
        REQUIRE(test.backend->withdrawals.size() == 1);
        CHECK(test.rest_of_withdrawal() == 20s);
    }
    SECTION("the same key, granted to an earlier claim of the acquisition")
    {
        test.attempt.holding = {};
        test.runtime->run_ready();
        std::move(late.handler)(test.grant(3s, 1));
        test.runtime->run_ready();
        REQUIRE(test.releases() == 2);
        CHECK(test.backend->releases.back().request.claim->reuse_after == 20s);
    }
}

} // namespace tenure::test
