// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Leases that are left to expire on purpose: what the store is asked, until when, and what the holder is told.
#include "harness/documented.hpp"
#include "unit/engine/second_try.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

/** A store with one slot of 3 s that was granted now. */
struct Detaching : ScriptedStore {
    explicit Detaching(std::chrono::milliseconds reuse_after = 0ms)
        : pool(*store, {.size = 4, .ttl = 3s, .reuse_after = reuse_after})
    {
    }

    void acquire()
    {
        attempt.start(pool);
        runtime->run_ready();
        backend->answer(backend->claims, grant(3s));
        runtime->run_ready();
        REQUIRE(attempt.error == error_code());
        token = attempt.holding.token();
    }
    void detach(std::optional<std::chrono::milliseconds> remaining = 60s)
    {
        auto handler = asio::bind_cancellation_slot(cancel.slot(), [this](error_code error) { told = error; });
        if (remaining)
            attempt.holding.async_detach(*remaining, std::move(handler));
        else
            attempt.holding.async_detach(std::move(handler));
    }
    void answer(ReleaseReply reply)
    {
        backend->answer(backend->releases, std::move(reply));
        runtime->run_ready();
    }
    [[nodiscard]] std::optional<std::chrono::milliseconds> asked_for() const
    {
        return backend->releases.front().request.keep_for;
    }

    SlotPool pool;
    Attempt<Slot> attempt;
    CancellationToken token;
    asio::cancellation_signal cancel;
    std::optional<error_code> told;
};

Failure cut()
{
    return Failure::unknown(make_error_code(errc::store_unavailable), "the connection broke");
}

} // namespace

TEST_CASE("a detached lease is over at once, its token says detached, and the store is asked to keep its key")
{
    Detaching test;
    test.acquire();
    std::optional<error_code> warned;
    test.attempt.holding.async_wait_at_risk([&](error_code error) { warned = error; });
    test.detach(60s);
    CHECK_FALSE(test.attempt.holding.valid());
    CHECK(test.attempt.holding.state() == LeaseState::released);
    CHECK(test.token.reason() == CancelReason::detached);
    CHECK_FALSE(is_loss(test.token.reason()));
    test.runtime->run_ready();
    CHECK(warned == make_error_code(errc::released));
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.asked_for() == 60s);
    CHECK_FALSE(test.told);
    test.answer(Released{});
    CHECK(test.told == error_code());
    // the object's end releases nothing
    test.attempt.holding = {};
    test.runtime->run_for(10s);
    CHECK(test.backend->releases.empty());
    CHECK(test.backend->renewals.empty());
    auto const statistics = test.store->statistics();
    CHECK(statistics.detached == 1);
    CHECK(statistics.released == 0);
    CHECK(statistics.held == 0);
    CHECK(statistics.lost.total() == 0);
}

TEST_CASE("a release frees the key, and a detachment without a time leaves it the ttl that it has")
{
    Detaching test;
    test.acquire();
    SECTION("released")
    {
        test.attempt.holding = {};
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 1);
        CHECK_FALSE(test.asked_for());
    }
    SECTION("detached")
    {
        test.detach(std::nullopt);
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 1);
        CHECK(test.asked_for() == 0ms);
    }
}

TEST_CASE("a detached number stays taken for its quarantine at least")
{
    Detaching test(20s);
    test.acquire();
    SECTION("which is longer than what was asked for")
    {
        test.detach(5s);
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 1);
        CHECK(test.asked_for() == 20s);
    }
    SECTION("which is shorter")
    {
        test.detach(30s);
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 1);
        CHECK(test.asked_for() == 30s);
    }
}

TEST_CASE("a detachment whose answer is lost is asked again")
{
    Detaching test;
    test.acquire();
    test.detach();
    test.runtime->run_ready();
    test.answer(cut());
    CHECK_FALSE(test.told);
    test.runtime->run_for(100ms);
    REQUIRE(test.backend->releases.size() == 1);
    CHECK(test.asked_for() == 60s);
    test.answer(Released{});
    CHECK(test.told == error_code());
    CHECK(test.store->statistics().detached == 1);
}

TEST_CASE("a detachment that finds the key gone is no success")
{
    Detaching test;
    test.acquire();
    test.detach();
    test.runtime->run_ready();
    SECTION("at once: the lease was lost")
    {
        test.answer(NotOwner{});
        CHECK(test.told == make_error_code(errc::lease_lost));
        CHECK(test.store->statistics().released_not_owner == 1);
    }
    SECTION("after an answer that was lost: the key may have been kept, and have expired since")
    {
        test.answer(cut());
        test.runtime->run_for(100ms);
        test.answer(NotOwner{});
        CHECK(test.told == make_error_code(errc::store_unavailable));
    }
    CHECK(test.store->statistics().detached == 0);
}

TEST_CASE("a detachment without an answer is reported as unconfirmed, and finished in the background")
{
    Detaching test;
    test.acquire();
    test.detach();
    test.runtime->run_ready();
    test.answer(cut());
    test.runtime->run_for(1200ms);
    CHECK(test.told == make_error_code(errc::store_unavailable));
    while (!test.backend->releases.empty())
        test.answer(Released{});
    CHECK(test.store->statistics().detached == 1);
}

TEST_CASE("a detachment is given up, and logged, when the key has expired")
{
    Detaching test;
    test.acquire();
    test.detach();
    for (int second = 0; second < 4; ++second) {
        test.runtime->run_for(1s);
        while (!test.backend->releases.empty())
            test.answer(cut());
    }
    test.runtime->run_for(10s);
    CHECK(test.backend->releases.empty());
    CHECK(test.runtime->logged("the detachment of thread_id_lock:0 was not confirmed") == 1);
}

TEST_CASE("a caller that cancels stops waiting, and the detachment goes on")
{
    Detaching test;
    test.acquire();
    test.detach();
    test.runtime->run_ready();
    test.cancel.emit(asio::cancellation_type::partial);
    test.runtime->run_ready();
    CHECK(test.told == make_error_code(asio::error::operation_aborted));
    CHECK(test.token.reason() == CancelReason::detached);
    test.answer(Released{});
    CHECK(test.store->statistics().detached == 1);
}

TEST_CASE("a renewal that is under way when its lease is detached changes nothing")
{
    Detaching test;
    test.acquire();
    std::optional<error_code> renewed;
    test.attempt.holding.async_renew([&](error_code error) { renewed = error; });
    test.runtime->run_ready();
    REQUIRE(test.backend->renewals.size() == 1);
    test.detach();
    test.runtime->run_ready();
    CHECK(renewed == make_error_code(errc::released));
    REQUIRE(test.backend->releases.size() == 1);
    // a store that keeps several requests under way looks at this before it writes
    CHECK(test.backend->renewals.front().request.claim->mark.ended.load());
    SECTION("it came first")
    {
        test.backend->answer(test.backend->renewals, Renewed{3s, test.runtime->now()});
    }
    SECTION("it came behind")
    {
        test.backend->answer(test.backend->renewals, NotOwner{});
    }
    test.runtime->run_for(2s);
    CHECK(test.token.reason() == CancelReason::detached);
    CHECK(test.backend->renewals.empty());
    CHECK(test.store->statistics().lost[CancelReason::not_owner] == 0);
}

TEST_CASE("no late answer to a claim gives the key back while it is being detached")
{
    Detaching test;
    auto late = acquire_at_the_second_try(test, test.attempt, test.pool);
    test.detach();
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.size() == 1);
    SECTION("an earlier claim was granted the same key")
    {
        std::move(late.handler)(test.grant(3s, 1));
        test.runtime->run_ready();
        CHECK(test.backend->releases.size() == 1);
        test.answer(Released{});
        CHECK(test.backend->withdrawals.empty());
    }
    SECTION("an earlier claim was granted another key, which nobody wants")
    {
        std::move(late.handler)(test.grant(3s, 2));
        test.runtime->run_ready();
        REQUIRE(test.backend->releases.size() == 2);
        auto const& other = test.backend->releases.back().request;
        CHECK(other.claim->index == 2);
        CHECK_FALSE(other.keep_for);
    }
    SECTION("an earlier claim ends without an answer: what it took is withdrawn when the key bears the owner no more")
    {
        std::move(late.handler)(ClaimReply(cut()));
        test.runtime->run_ready();
        CHECK(test.backend->withdrawals.empty());
        test.answer(Released{});
        CHECK(test.backend->withdrawals.size() == 1);
    }
}

TEST_CASE("a lease ends once")
{
    Detaching test;
    test.acquire();
    std::optional<error_code> second;
    SECTION("detached, then released")
    {
        test.detach();
        test.attempt.holding.async_release([&](error_code error, ReleaseOutcome) { second = error; });
    }
    SECTION("released, then detached")
    {
        test.attempt.holding.async_release([](error_code, ReleaseOutcome) {});
        test.attempt.holding.async_detach(60s, [&](error_code error) { second = error; });
        CHECK(test.token.reason() == CancelReason::released);
    }
    SECTION("detached twice")
    {
        test.detach();
        test.attempt.holding.async_detach(60s, [&](error_code error) { second = error; });
    }
    test.runtime->run_ready();
    CHECK(second == make_error_code(errc::released));
    CHECK(test.backend->releases.size() == 1);
}

TEST_CASE("a lease that was lost is detached if the store still has it, and its token goes on saying why it was lost")
{
    Detaching test;
    test.acquire();
    test.runtime->run_for(3s);
    REQUIRE(test.token.reason() == CancelReason::expired);
    test.detach();
    test.runtime->run_ready();
    REQUIRE(test.backend->releases.size() == 1);
    test.answer(Released{});
    CHECK(test.told == error_code());
    CHECK(test.token.reason() == CancelReason::expired);
    CHECK(test.store->statistics().lost[CancelReason::expired] == 1);
}

TEST_CASE("times that the store does not allow are refused in words, and the lease goes on")
{
    Detaching test;
    test.acquire();
    SECTION("too short")
    {
        test.detach(99ms);
        test.runtime->run_ready();
        CHECK(
            test.runtime->logged(
                "thread_id_lock:0 is not detached and stays held: remaining is 99 ms: this store allows 100 ms to "
                "86400000 ms") == 1);
    }
    SECTION("too long")
    {
        test.detach(24h + 1ms);
        test.runtime->run_ready();
        CHECK(test.runtime->logged("remaining is 86400001 ms") == 1);
    }
    test.runtime->run_ready();
    CHECK(test.told == std::errc::invalid_argument);
    CHECK(test.store->diagnostics().last_error == std::errc::invalid_argument);
    CHECK(documented(test.store->diagnostics().last_detail));
    CHECK(test.attempt.holding.valid());
    CHECK_FALSE(test.token.cancelled());
    CHECK(test.backend->releases.empty());
}

TEST_CASE("a store tells before the work whether it can keep a key for so long")
{
    ScriptedStore const test;
    auto const refusal = [&](std::chrono::milliseconds remaining) {
        try {
            test.store->check_detach(remaining);
        } catch (std::invalid_argument const& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(refusal(100ms).empty());
    CHECK(refusal(24h).empty());
    CHECK(refusal(99ms) == "remaining is 99 ms: this store allows 100 ms to 86400000 ms");
    CHECK(refusal(24h + 1ms) == "remaining is 86400001 ms: this store allows 100 ms to 86400000 ms");
    CHECK(documented(refusal(99ms)));
    CHECK(test.backend->claims.empty());
}

TEST_CASE("a store that cannot keep keys refuses to detach in its own words, and the lease goes on")
{
    ScriptedStore test;
    struct Unable : ScriptedBackend {
        using ScriptedBackend::ScriptedBackend;
        [[nodiscard]] Capabilities capabilities() const noexcept override
        {
            return {.no_detach = "it forgets at once"};
        }
    };
    auto const backend = std::make_shared<Unable>(test.runtime);
    Store const store(test.runtime, backend, {"worker", {}});
    Attempt<Lease> attempt;
    attempt.start(Lock(store, {.key = "k", .ttl = 3s}));
    test.runtime->run_ready();
    backend->answer(backend->claims, test.grant(3s));
    test.runtime->run_ready();
    std::optional<error_code> told;
    attempt.holding.async_detach([&](error_code error) { told = error; });
    test.runtime->run_ready();
    CHECK(told == std::errc::operation_not_supported);
    CHECK(
        test.runtime->logged("k is not detached and stays held: the store cannot keep a key taken without a holder: "
                             "it forgets at once; use another store, or release the lease") == 1);
    CHECK(attempt.holding.valid());
    CHECK_THROWS_WITH(
        store.check_detach(1min), "the store cannot keep a key taken without a holder: it forgets at once; use another "
                                  "store, or release the lease");
    attempt.holding = {};
    test.runtime->run_ready();
    backend->shutdown();
}

} // namespace tenure::test
