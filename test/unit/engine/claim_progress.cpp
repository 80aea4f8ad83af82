// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims that wait for their turn in the store, and claims that the store has written.
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstddef>
#include <list>
#include <string>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A lock whose claim waits for its turn. */
struct Waiting {
    Waiting()
    {
        test.backend->writes_claims = false;
        attempt.start(Lock(*test.store, {.key = "k", .ttl = 3s}), {.wait = 20s});
        test.runtime->run_ready();
    }

    [[nodiscard]] Deadline const& deadline() { return test.backend->claims.front().request.not_after; }

    /// outlives what calls its handler
    Attempt<Lease> attempt;
    ScriptedStore test;
};

} // namespace

TEST_CASE("a claim that waits for its turn is passed to the store once, and takes its grant when it comes")
{
    Waiting waiting;
    auto& test = waiting.test;
    test.runtime->run_for(15s);
    CHECK(test.backend->claims.size() == 1);
    CHECK_FALSE(waiting.attempt.error);
    test.grant_claim(3s);
    CHECK(waiting.attempt.error == error_code());
    CHECK(waiting.attempt.holding.valid());
}

TEST_CASE("a written claim is repeated when it stays unanswered for its patience, counted from the writing")
{
    Waiting waiting;
    auto& test = waiting.test;
    test.runtime->run_for(10s);
    waiting.deadline().progressed(test.runtime->now());
    test.runtime->run_for(900ms);
    CHECK(test.backend->claims.size() == 1);
    test.runtime->run_for(1200ms);
    CHECK(test.backend->claims.size() == 2);
    CHECK(test.backend->claims.front().request.owner == test.backend->claims.back().request.owner);
    // the second attempt waits for its turn
    test.runtime->run_for(5s);
    CHECK(test.backend->claims.size() == 2);
}

TEST_CASE("an answered step of a claim renews the patience with it")
{
    Waiting waiting;
    auto& test = waiting.test;
    for (int step = 0; step < 10; ++step) {
        waiting.deadline().progressed(test.runtime->now());
        test.runtime->run_for(900ms);
        REQUIRE(test.backend->claims.size() == 1);
    }
}

TEST_CASE("an acquisition that ends before its claim was sent names what was ahead of it")
{
    Waiting waiting;
    auto& test = waiting.test;
    test.runtime->run_for(19'990ms);
    test.backend->answer(test.backend->claims, Failure::dropped("311 claims of this process were ahead of it"));
    test.runtime->run_for(10ms);
    CHECK(waiting.attempt.error == errc::store_unavailable);
    CHECK(
        test.store->diagnostics().last_detail ==
        "k: not sent within 19990 ms: 311 claims of this process were ahead of it");
    CHECK(test.backend->withdrawals.empty());
}

TEST_CASE("an acquisition that ends without a word of the store says whether its claim was sent")
{
    Waiting waiting;
    auto& test = waiting.test;
    bool const sent = GENERATE(false, true);
    test.runtime->run_for(19'900ms);
    if (sent)
        waiting.deadline().progressed(test.runtime->now());
    test.runtime->run_for(100ms);
    CHECK(waiting.attempt.error == errc::store_unavailable);
    CHECK(
        test.store->diagnostics().last_detail ==
        (sent ? "k: no answer within 20000 ms" : "k: not sent within 20000 ms"));
}

TEST_CASE("all acquisitions that begin at once are passed to the store, which sets the pace")
{
    // outlive what calls their handlers
    std::list<Attempt<Lease>> attempts;
    ScriptedStore test;
    for (std::size_t i = 0; i < 5000; ++i)
        attempts.emplace_back().start(Lock(*test.store, {.key = "key " + std::to_string(i), .ttl = 3s}));
    test.runtime->run_ready();
    CHECK(test.backend->claims.size() == 5000);
}

} // namespace tenure::test
