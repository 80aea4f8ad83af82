// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReentrantLock: one claim, one lease, one release, however often a holder acquires it.
#include "harness/documented.hpp"
#include "unit/locks/reentrant_fixture.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

TEST_CASE("a further acquisition of a holder gets the same lease, and the store is not asked")
{
    Reentrant test;
    auto const& first = test.ask();
    CHECK_FALSE(first.error);
    test.grant_claim();
    REQUIRE(first.error == error_code());
    auto const& second = test.ask();
    REQUIRE(second.error == error_code());
    CHECK(test.backend->claims.empty());
    CHECK(second.holding.fencing_token() == first.holding.fencing_token());
    CHECK(second.holding.owner() == first.holding.owner());
    CHECK(second.holding.valid_until() == first.holding.valid_until());
    CHECK(second.holding.key() == "stock");
    CHECK(first.holding.depth() == 2);
    CHECK(second.holding.valid());
    // another lock object of the same key is the same lock, and a copy of the holder the same holder
    ReentrantLock const other(*test.store, {.key = "stock", .ttl = 5s});
    Holder const copy = test.holder;
    ReentrantLease third;
    other.async_acquire(copy, [&](error_code, ReentrantLease hold) { third = std::move(hold); });
    test.runtime->run_ready();
    CHECK(third.depth() == 3);
    CHECK(test.store->statistics().acquired == 1);
}

TEST_CASE("another holder of the same process is excluded")
{
    Reentrant test;
    auto const& first = test.ask();
    test.grant_claim();
    auto const& other = test.ask(Holder(), {.wait = 1s});
    test.refuse_claim();
    test.pass(1100ms);
    CHECK(other.error == make_error_code(errc::timed_out));
    CHECK(first.holding.valid());
}

TEST_CASE("the key is given back with the last ReentrantLease, in whichever order they end")
{
    Reentrant test;
    std::array<Attempt<ReentrantLease>*, 3> const holds{&test.ask(), &test.ask(), &test.ask()};
    test.grant_claim();
    auto const token = holds[0]->holding.token();
    using Numbers = std::vector<std::size_t>;
    auto const order = GENERATE(Numbers{0, 1, 2}, Numbers{2, 1, 0}, Numbers{1, 2, 0});
    CAPTURE(order);
    for (auto const which : {order[0], order[1]}) {
        auto const& ending = test.release(holds.at(which)->holding);
        CHECK(ending.error == error_code());
        CHECK(ending.outcome == ReleaseOutcome::still_held);
        CHECK(test.backend->releases.empty());
        CHECK_FALSE(token.cancelled());
        auto& ended = holds.at(which)->holding;
        CHECK_FALSE(ended.valid());
        CHECK(ended.state() == LeaseState::released);
        CHECK(ended.depth() == 0);
        CHECK(ended.token().cancelled());
        CHECK(test.release(ended).error == make_error_code(errc::released));
    }
    auto& last = holds.at(order[2])->holding;
    CHECK(last.depth() == 1);
    auto const& ending = test.release(last);
    CHECK(token.reason() == CancelReason::released);
    CHECK_FALSE(ending.error);
    CHECK(test.backend->releases.size() == 1);
    test.answer_release(Released{});
    CHECK(ending.error == error_code());
    CHECK(ending.outcome == ReleaseOutcome::released);
    test.runtime->run_for(10s);
    CHECK(test.backend->releases.empty());
    CHECK(test.store->statistics().released == 1);
}

TEST_CASE("destroying, moving and assigning Holds counts")
{
    Reentrant test;
    auto& first = test.ask();
    test.grant_claim();
    auto& second = test.ask();
    ReentrantLease moved = std::move(second.holding);
    CHECK(moved.depth() == 2);
    CHECK(second.holding.empty()); // NOLINT(bugprone-use-after-move): what it is about
    moved = {};
    CHECK(first.holding.depth() == 1);
    CHECK(test.backend->releases.empty());
    first.holding = ReentrantLease();
    test.runtime->run_ready();
    CHECK(test.backend->releases.size() == 1);
    test.answer_release(Released{});
}

TEST_CASE("Holds outlive the holder and the lock")
{
    Reentrant test;
    std::optional<Holder> holder(std::in_place);
    auto& hold = test.ask(*holder);
    test.grant_claim();
    holder.reset();
    test.pass(5s);
    CHECK(hold.holding.valid());
    auto const& ending = test.release(hold.holding);
    test.answer_release(Released{});
    CHECK(ending.outcome == ReleaseOutcome::released);
}

TEST_CASE("acquisitions of one holder while the claim is under way share it")
{
    Reentrant test;
    auto const& first = test.ask();
    auto const& second = test.ask();
    auto const& longer = test.ask({.wait = 60s});
    CHECK(test.backend->claims.size() == 1);
    test.grant_claim();
    for (auto const* attempt : {&first, &second, &longer}) {
        CHECK(attempt->error == error_code());
        CHECK(attempt->holding.fencing_token() == 1);
        CHECK(attempt->holding.depth() == 3);
    }
    CHECK(test.backend->claims.empty());
}

TEST_CASE("cancelling one of two who share a claim ends the wait of that one only")
{
    Reentrant test;
    auto& first = test.ask();
    auto& second = test.ask();
    bool const cancel_first = GENERATE(true, false);
    auto& cancelled = cancel_first ? first : second;
    auto& goes_on = cancel_first ? second : first;
    cancelled.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    CHECK(cancelled.error == make_error_code(asio::error::operation_aborted));
    CHECK_FALSE(goes_on.error);
    CHECK(test.store->statistics().cancelled == 0);
    test.grant_claim();
    CHECK(goes_on.holding.valid());
    CHECK(goes_on.holding.depth() == 1);
    CHECK(cancelled.holding.empty());
}

TEST_CASE("the claim is cancelled when its last waiter has left, and a late grant is given back")
{
    Reentrant test;
    auto& first = test.ask();
    auto& second = test.ask();
    for (auto* attempt : {&first, &second}) {
        attempt->cancel.emit(asio::cancellation_type::total);
        test.runtime->run_ready();
        CHECK(attempt->error == make_error_code(asio::error::operation_aborted));
    }
    CHECK(test.store->statistics().cancelled == 1);
    test.grant_claim();
    CHECK(test.backend->releases.size() == 1);
    test.answer_release(Released{});
    // the next one begins anew
    auto const& third = test.ask();
    test.grant_claim();
    CHECK(third.holding.fencing_token() == 2);
}

TEST_CASE("each who shares a claim waits for as long as it wants to")
{
    Reentrant test;
    auto const& first = test.ask({.wait = 10s});
    test.refuse_claim();
    SECTION("the second one longer")
    {
        auto const& second = test.ask({.wait = 20s});
        CHECK(test.backend->claims.empty());
        test.pass(9900ms);
        CHECK_FALSE(first.error);
        test.pass(200ms);
        CHECK(first.error == make_error_code(errc::timed_out));
        CHECK_FALSE(second.error);
        test.pass(9s);
        CHECK_FALSE(second.error);
        SECTION("until it gets the lock")
        {
            REQUIRE(test.runtime->run_while_not([&] { return !test.backend->claims.empty(); }, 900ms));
            test.grant_claim();
            CHECK(second.holding.valid());
        }
        SECTION("until its own time is over")
        {
            test.pass(1s);
            CHECK(second.error == make_error_code(errc::timed_out));
        }
    }
    SECTION("the second one shorter")
    {
        auto const& second = test.ask({.wait = 2s});
        test.pass(1900ms);
        CHECK_FALSE(second.error);
        test.pass(200ms);
        CHECK(second.error == make_error_code(errc::timed_out));
        CHECK_FALSE(first.error);
        REQUIRE(test.runtime->run_while_not([&] { return !test.backend->claims.empty(); }, 2s));
        test.grant_claim();
        CHECK(first.holding.valid());
    }
    SECTION("the second one not at all")
    {
        std::optional<error_code> tried;
        test.lock.async_try_acquire(test.holder, [&](error_code error, std::optional<ReentrantLease> const& hold) {
            tried = error;
            CHECK_FALSE(hold);
        });
        test.runtime->run_ready();
        test.refuse_claim();
        CHECK(tried == error_code());
        CHECK_FALSE(first.error);
    }
}

TEST_CASE("whichever claim of a holder is granted first serves all who wait")
{
    Reentrant test;
    auto const& first = test.ask({.wait = 10s});
    auto const& second = test.ask({.wait = 2s});
    REQUIRE(test.backend->claims.size() == 2);
    std::swap(test.backend->claims[0], test.backend->claims[1]);
    test.grant_claim();
    CHECK(first.holding.fencing_token() == second.holding.fencing_token());
    CHECK(second.holding.depth() == 2);
    // the other claim finds the key held
    test.refuse_claim();
    test.pass(15s);
    CHECK(first.holding.valid());
    CHECK(test.backend->claims.empty());
}

TEST_CASE("an error that no waiting can mend ends all who share the claim")
{
    Reentrant test;
    auto const& first = test.ask();
    auto const& second = test.ask({.wait = forever});
    test.backend->answer(
        test.backend->claims, Failure::refused(make_error_code(errc::permission_denied), "NOPERM", true));
    test.runtime->run_ready();
    CHECK(first.error == make_error_code(errc::permission_denied));
    CHECK(second.error == make_error_code(errc::permission_denied));
    CHECK(test.backend->claims.empty());
}

TEST_CASE("a loss reaches all Holds, and the holder gets no other lease until they are gone")
{
    Reentrant test;
    std::array<Attempt<ReentrantLease>*, 3> const holds{&test.ask(), &test.ask(), &test.ask()};
    test.grant_claim();
    std::vector<CancelReason> told;
    for (auto const* attempt : holds) {
        auto const token = attempt->holding.token();
        token.async_wait([&told, token](error_code) { told.push_back(token.reason()); });
    }
    test.lose();
    CHECK(told == std::vector(3, CancelReason::not_owner));
    for (auto* attempt : holds) {
        CHECK(test.ask().error == make_error_code(errc::lease_lost));
        CHECK(test.backend->claims.empty());
        CHECK_FALSE(attempt->holding.valid());
        CHECK(attempt->holding.state() == LeaseState::lost);
        auto const left = attempt->holding.depth();
        auto const& ending = test.release(attempt->holding);
        CHECK(attempt->holding.token().reason() == CancelReason::not_owner);
        CHECK(ending.error.has_value() == (left > 1));
    }
    CHECK(documented(test.store->diagnostics().last_detail));
    // all are gone: the next one waits for the answer, and begins anew
    auto const& next = test.ask();
    CHECK(test.backend->claims.empty());
    test.answer_release(NotOwner{});
    CHECK(test.endings.back().outcome == ReleaseOutcome::was_lost);
    test.grant_claim();
    CHECK(next.holding.valid());
    CHECK(next.holding.fencing_token() == 2);
}

TEST_CASE("a lease that expired counts as lost, also where nothing has run since")
{
    Reentrant test;
    auto const& first = test.ask();
    test.grant_claim();
    test.runtime->skip(3s);
    auto const& second = test.ask();
    CHECK(second.error == make_error_code(errc::lease_lost));
    CHECK(first.holding.token().reason() == CancelReason::expired);
}

TEST_CASE("an acquisition while the last release is under way waits for its answer, and claims then")
{
    Reentrant test;
    auto& first = test.ask();
    test.grant_claim();
    auto& ending = test.release(first.holding);
    auto const& second = test.ask();
    auto const& third = test.ask({.wait = 500ms});
    CHECK(test.backend->claims.empty());
    SECTION("and gets a lease of its own")
    {
        bool const cancelled = GENERATE(false, true);
        if (cancelled) {
            // the waiter has left, and the release continues
            ending.cancel.emit(asio::cancellation_type::terminal);
            test.runtime->run_ready();
            CHECK(ending.error == make_error_code(asio::error::operation_aborted));
            CHECK(test.backend->claims.empty());
        }
        test.answer_release(Released{});
        CHECK((ending.error == error_code()) != cancelled);
        CHECK(test.backend->claims.size() == 1);
        test.grant_claim();
        CHECK(second.holding.fencing_token() == 2);
        CHECK(third.holding.depth() == 2);
        // no time limit is left over
        test.pass(2s);
        CHECK(third.holding.valid());
    }
    SECTION("and no longer than it wants to")
    {
        test.runtime->run_for(499ms);
        CHECK_FALSE(third.error);
        test.runtime->run_for(2ms);
        CHECK(third.error == make_error_code(errc::store_unavailable));
        CHECK(documented(test.store->diagnostics().last_detail));
        CHECK_FALSE(second.error);
        CHECK(test.backend->claims.empty());
    }
    SECTION("or until the release counts as unconfirmed, which a try does, too")
    {
        std::optional<error_code> tried;
        test.lock.async_try_acquire(test.holder, [&](error_code error, std::optional<ReentrantLease> const& hold) {
            tried = error;
            CHECK_FALSE(hold);
        });
        test.runtime->run_for(999ms);
        CHECK_FALSE(tried);
        CHECK(test.backend->claims.empty());
        test.runtime->run_for(2ms);
        CHECK(ending.outcome == ReleaseOutcome::unconfirmed);
        CHECK(test.backend->claims.size() == 2);
        test.refuse_claim();
        test.refuse_claim();
        CHECK(tried == error_code());
        CHECK_FALSE(second.error);
    }
    SECTION("and can be cancelled")
    {
        for (auto& attempt : test.attempts)
            attempt.cancel.emit(asio::cancellation_type::partial);
        test.runtime->run_ready();
        CHECK(second.error == make_error_code(asio::error::operation_aborted));
        CHECK(third.error == make_error_code(asio::error::operation_aborted));
        test.answer_release(Released{});
        CHECK(test.backend->claims.empty());
        // a timer would keep the context of a closed store running
        test.store->async_close(1s, [](error_code) {});
        test.runtime->run_ready();
        CHECK(test.backend->shutdowns == 1);
        CHECK(test.runtime->timers() == 0);
    }
}

TEST_CASE("a further acquisition may name no other ttl than the lease was claimed with")
{
    Reentrant test;
    auto const& first = test.ask();
    SECTION("while it is held")
    {
        test.grant_claim();
    }
    SECTION("while it is asked for")
    {
    }
    CHECK(test.ask({.ttl = 2s}).error == make_error_code(boost::system::errc::invalid_argument));
    auto const words = test.store->diagnostics().last_detail;
    CAPTURE(words);
    CHECK(documented(words));
    CHECK(test.runtime->logged(words) == 1);
    CHECK_FALSE(test.ask({.ttl = Reentrant::ttl}).error == make_error_code(boost::system::errc::invalid_argument));
    if (!test.backend->claims.empty())
        test.grant_claim();
    CHECK(first.holding.depth() == 2);
    CHECK(test.attempts.back().holding.valid());
}

TEST_CASE("options that cannot work are refused as those of a Lock, whatever is held")
{
    Reentrant test;
    auto const& first = test.ask();
    if (GENERATE(true, false))
        test.grant_claim();
    CHECK(test.ask({.wait = -1ms}).error == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.runtime->logged("AcquireOptions::wait is -1 ms") == 1);
    CHECK(test.ask({.ttl = 1ms}).error == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.runtime->logged("AcquireOptions::ttl is 1 ms") == 1);
    CHECK(test.ask({.prefer = 0}).error == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.runtime->logged("AcquireOptions::prefer is 0: stock is a lock") == 1);
    std::optional<error_code> tried;
    test.lock.async_try_acquire(
        test.holder, AcquireOptions{.wait = 1s},
        [&](error_code error, std::optional<ReentrantLease> const&) { tried = error; });
    test.runtime->run_ready();
    CHECK(tried == make_error_code(boost::system::errc::invalid_argument));
    CHECK((!first.error || first.holding.depth() == 1));
}

TEST_CASE("a ttl of one's own is that of the claim")
{
    Reentrant test;
    auto const& first = test.ask({.ttl = 5s});
    CHECK(test.backend->claims.front().request.ttl == 5s);
    test.grant_claim();
    CHECK(test.ask({.ttl = 5s}).error == error_code());
    CHECK(test.ask({.ttl = Reentrant::ttl}).error == make_error_code(boost::system::errc::invalid_argument));
    CHECK(first.holding.depth() == 2);
}

TEST_CASE("a holder and a released ReentrantLease keep no store open")
{
    ScriptedStore test;
    Holder const holder;
    ReentrantLease hold;
    ReentrantLock(*test.store, {.key = "stock", .ttl = 3s})
        .async_acquire(holder, [&](error_code, ReentrantLease granted) { hold = std::move(granted); });
    test.store.reset();
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, test.grant(3s));
    test.runtime->run_for(1s);
    CHECK(hold.valid());
    CHECK(test.backend->shutdowns == 0);
    hold.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    test.backend->answer(test.backend->releases, Released{});
    test.runtime->run_for(2s);
    CHECK(test.backend->shutdowns == 1);
    CHECK(hold.fencing_token() == 1);
}

} // namespace tenure::test
