// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// View: what it knows, when it asks, and what it tells.
#include "harness/documented.hpp"
#include "unit/locks/view_fixture.hpp"

#include <tenure/lock.hpp>
#include <tenure/slot_pool.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

Failure unavailable()
{
    return Failure::not_sent(make_error_code(errc::store_unavailable), "scripted: no connection");
}

} // namespace

TEST_CASE("a View knows nothing until the store has answered")
{
    Viewing test;
    auto const before = test.view->snapshot();
    CHECK(before.version == 0);
    CHECK_FALSE(before.age);
    CHECK(before.keys.empty());
    CHECK_FALSE(before.stale);
    auto const& change = test.wait(0);
    CHECK_FALSE(change.error);
    test.runtime->run_for(20ms);
    test.answer(KeyState{});
    REQUIRE(change.error == error_code());
    CHECK(change.view.version == 1);
    REQUIRE(change.view.keys.size() == 1);
    CHECK(change.view.keys.front().kind == KeyState::Kind::free);
    // from before the request was written
    CHECK(change.view.age == 20ms);
}

TEST_CASE("a View goes on from what it knows while the store is unavailable")
{
    Viewing test;
    test.answer(held_key("a", 2500ms));
    test.pass(2000ms, unavailable());
    auto known = test.view->snapshot();
    REQUIRE(known.keys.size() == 1);
    CHECK(known.keys.front().owner == "a");
    CHECK(known.keys.front().remaining == 500ms);
    CHECK(known.age == 2000ms);
    CHECK(known.version == 1);
    CHECK(test.store->diagnostics().last_error == errc::store_unavailable);
    // its time runs out, and it is not taken for free
    test.pass(60s, unavailable());
    known = test.view->snapshot();
    CHECK(known.keys.front().kind == KeyState::Kind::held);
    CHECK(known.keys.front().owner == "a");
    CHECK(known.keys.front().remaining == 0ms);
    CHECK(known.age == 62s);
    test.pass(1100ms, Keys{held_key("b")});
    known = test.view->snapshot();
    CHECK(known.keys.front().owner == "b");
    CHECK(known.age < 1100ms);
}

TEST_CASE("how long a key has been held is counted on")
{
    Viewing test;
    auto key = held_key("a");
    key.held_for = 300ms;
    test.answer(key);
    test.runtime->run_for(200ms);
    CHECK(test.view->snapshot().keys.front().held_for == 500ms);
}

TEST_CASE("a View reads once in each refresh")
{
    Viewing test({.refresh = 500ms});
    CHECK(test.pass(4990ms, Keys{held_key("a")}) == 10);
}

TEST_CASE("an announced release is looked at once, however often it is announced")
{
    Viewing test({.refresh = 10s});
    CHECK(test.backend->watched_as == WatchAs::observer);
    test.answer(held_key("a"));
    test.runtime->run_for(100ms);
    CHECK(test.reads() == 0);
    auto const& change = test.wait(1);
    for (int count = 0; count < 100; ++count)
        test.backend->watch_handler(WatchEvent::hint);
    test.runtime->run_for(0ms);
    CHECK(test.reads() == 1);
    test.answer(KeyState{});
    REQUIRE(change.error == error_code());
    CHECK(change.view.keys.front().kind == KeyState::Kind::free);
    test.runtime->run_for(9s);
    CHECK(test.reads() == 0);
}

TEST_CASE("two reads of a View have 50 ms between them")
{
    Viewing test({.refresh = 10s});
    test.answer(held_key("a"));
    int reads = 0;
    for (int step = 0; step < 1000; ++step) {
        test.backend->watch_handler(WatchEvent::hint);
        test.runtime->run_for(1ms);
        for (; test.reads() > 0; ++reads)
            test.answer(held_key("a"));
    }
    CHECK(reads >= 18);
    CHECK(reads <= 20);
}

TEST_CASE("a range that takes long to read leaves the store as long to itself")
{
    Viewing test({.refresh = 100ms});
    test.runtime->run_for(2s);
    test.answer(held_key("a"));
    test.hint();
    test.runtime->run_for(1900ms);
    CHECK(test.reads() == 0);
    test.runtime->run_for(200ms);
    CHECK(test.reads() == 1);
}

TEST_CASE("a View never asks again before it has its answer, so none can come late and replace a newer one")
{
    Viewing test({.refresh = 100ms});
    auto const& change = test.wait(0);
    for (int count = 0; count < 50; ++count) {
        test.hint();
        test.backend->reachable();
        test.runtime->run_for(100ms);
        CHECK(test.reads() == 1);
    }
    test.answer(held_key("a"));
    CHECK(change.view.keys.front().owner == "a");
    // a release that was announced meanwhile may not be in that answer
    test.runtime->run_for(6s);
    CHECK(test.reads() == 1);
    test.answer(held_key("b"));
    CHECK(test.view->snapshot().keys.front().owner == "b");
}

TEST_CASE("a change announced while a read is under way is read after it")
{
    Viewing test({.refresh = 10s});
    test.hint();
    test.answer(held_key("a"));
    test.runtime->run_for(60ms);
    REQUIRE(test.reads() == 1);
    auto const& change = test.wait(1);
    test.answer(KeyState{});
    CHECK(change.view.keys.front().kind == KeyState::Kind::free);
}

TEST_CASE("a subscription that comes into force is followed by a read")
{
    Viewing test({.refresh = 10s});
    test.answer(held_key("a"));
    test.backend->watch_handler(WatchEvent::interrupted);
    test.backend->watch_handler(WatchEvent::unavailable);
    test.runtime->run_for(1s);
    CHECK(test.reads() == 0);
    test.backend->watch_handler(WatchEvent::in_force);
    test.runtime->run_for(60ms);
    CHECK(test.reads() == 1);
}

TEST_CASE("a View reads as soon as the store becomes reachable")
{
    Viewing test({.refresh = 10s});
    test.answer_unavailable();
    test.runtime->run_for(1s);
    CHECK(test.reads() == 0);
    test.backend->reachable();
    test.runtime->run_for(0ms);
    CHECK(test.reads() == 1);
}

TEST_CASE("a key whose time runs out is looked at then, without any event")
{
    Viewing test({.refresh = 10s});
    test.answer(held_key("a", 700ms));
    auto const& change = test.wait(1);
    test.runtime->run_for(690ms);
    CHECK(test.reads() == 0);
    test.runtime->run_for(20ms);
    CHECK(test.reads() == 1);
    test.answer(KeyState{});
    REQUIRE(change.error == error_code());
    CHECK(change.view.keys.front().kind == KeyState::Kind::free);
}

TEST_CASE("the end of a key's time is looked at once, whatever the answer")
{
    Viewing test({.refresh = 10s});
    test.answer(held_key("a", 705ms));
    auto const reply = GENERATE(
        InspectReply(unavailable()), InspectReply(Keys{held_key("a", 0ms)}), InspectReply(Keys{held_key("a", {})}));
    CHECK(test.pass(9s, reply) == 1);
}

TEST_CASE("another owner or kind of a key is a change, and a renewal is not")
{
    Viewing test;
    test.answer(held_key("a", 1s));
    std::vector<std::uint64_t> versions{test.view->snapshot().version};
    KeyState resting = held_key("b");
    resting.kind = KeyState::Kind::resting;
    for (auto const& state :
         {held_key("a", 10s), held_key("b"), resting, KeyState{}, KeyState{}, held_key("b"), held_key("b")}) {
        test.runtime->run_for(1s);
        test.answer(state);
        versions.push_back(test.view->snapshot().version);
    }
    CHECK(versions == std::vector<std::uint64_t>{1, 1, 2, 3, 4, 4, 5, 5});
}

TEST_CASE("each waiter gets each change, and a slow user the newest")
{
    Viewing test;
    auto const& first = test.wait(0);
    auto const& second = test.wait(0);
    test.answer(held_key("a"));
    CHECK(first.view.version == 1);
    CHECK(second.view.version == 1);
    auto const& third = test.wait(first.view.version);
    test.runtime->run_for(1s);
    test.answer(held_key("b"));
    REQUIRE(third.error == error_code());
    CHECK(third.view.keys.front().owner == "b");
    test.runtime->run_for(1s);
    test.answer(held_key("c"));
    // it still knows of the first change only
    auto const& slow = test.wait(second.view.version);
    REQUIRE(slow.error == error_code());
    CHECK(slow.view.keys.front().owner == "c");
    CHECK(slow.view.version == 3);
}

TEST_CASE("a view that the store has not confirmed for three refreshes is stale, and an answer ends that")
{
    Viewing test({.refresh = 2s});
    test.answer(KeyState{});
    auto const& stale = test.wait(1);
    test.pass(5990ms, unavailable());
    CHECK_FALSE(stale.error);
    CHECK_FALSE(test.view->snapshot().stale);
    test.pass(20ms, unavailable());
    REQUIRE(stale.error == error_code());
    CHECK(stale.view.stale);
    CHECK(stale.view.version == 2);
    CHECK(stale.view.keys.front().kind == KeyState::Kind::free);
    auto const& fresh = test.wait(2);
    test.pass(10s, unavailable());
    CHECK_FALSE(fresh.error);
    test.pass(2s, Keys{KeyState{}});
    REQUIRE(fresh.error == error_code());
    CHECK_FALSE(fresh.view.stale);
    CHECK(fresh.view.version == 3);
}

TEST_CASE("with a short refresh it takes three seconds, so that a slow answer is no alarm")
{
    Viewing test({.refresh = 100ms});
    test.answer(KeyState{});
    test.pass(2990ms, unavailable());
    CHECK_FALSE(test.view->snapshot().stale);
    test.pass(20ms, unavailable());
    CHECK(test.view->snapshot().stale);
}

TEST_CASE("a holder whose time ran out a second ago is stale, however long the refresh is")
{
    Viewing test({.refresh = 1h});
    test.answer(held_key("a", 5s));
    test.pass(5990ms, unavailable());
    CHECK_FALSE(test.view->snapshot().stale);
    test.pass(20ms, unavailable());
    CHECK(test.view->snapshot().stale);
}

TEST_CASE("after a pause of the process a View is stale at the first look")
{
    Viewing test;
    test.answer(held_key("a"));
    auto const& change = test.wait(1);
    test.runtime->skip(1h);
    auto const now = test.view->snapshot();
    CHECK(now.stale);
    CHECK(now.version == 2);
    CHECK(now.age == 1h);
    // waiters learn of it by that look, and not a second time by the timer
    test.runtime->run_ready();
    REQUIRE(change.error == error_code());
    CHECK(change.view.version == 2);
    auto const& next = test.wait(2);
    test.runtime->run_for(10ms);
    CHECK_FALSE(next.error);
}

TEST_CASE("a cancelled wait ends alone")
{
    Viewing test;
    auto& first = test.wait(0);
    auto const& second = test.wait(0);
    first.cancel.emit(asio::cancellation_type::total);
    test.runtime->run_ready();
    CHECK(first.error == asio::error::operation_aborted);
    CHECK_FALSE(second.error);
    test.answer(KeyState{});
    CHECK(second.error == error_code());
}

TEST_CASE("a cancellation after the change has no effect")
{
    Viewing test;
    auto& change = test.wait(0);
    REQUIRE(test.reads() == 1);
    test.backend->answer(test.backend->inspections, Keys{KeyState{}});
    // the answer is taken, and the handler waits for its turn
    REQUIRE(test.runtime->run_while_not([&] { return test.view->snapshot().version == 1; }, 1s));
    change.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    CHECK(change.error == error_code());
}

TEST_CASE("a View that the store refuses to answer says so in the log, less and less often")
{
    Viewing test;
    Failure const refused = Failure::refused(make_error_code(errc::permission_denied), "NOPERM");
    test.pass(10s, refused);
    // at once, and a second later with the number of reads
    CHECK(test.runtime->logged("a View cannot read job: NOPERM") == 2);
    CHECK(test.runtime->logged("a View cannot read job: NOPERM; ") == 1);
    test.pass(2s, Keys{KeyState{}});
    test.pass(10s, refused);
    CHECK(test.runtime->logged("a View cannot read job: NOPERM") == 3);
    test.pass(10s, unavailable());
    CHECK(test.runtime->lines().size() == 3);
}

TEST_CASE("a View of a lock or a pool is one of its keys")
{
    Viewing test;
    std::optional<SlotPool> pool(std::in_place, *test.store, SlotPoolConfig{.prefix = "slot:", .size = 2});
    View const view(*pool);
    CHECK(*view.range() == *pool->range());
    CHECK(view.get_executor() == test.store->get_executor());
    pool.reset();
    test.runtime->run_ready();
    REQUIRE(test.reads() == 2);
    CHECK(test.backend->inspections.back().request->describe() == "slot:0..1");
    Lock const lock(*test.store, {.key = "lock"});
    CHECK(*View(lock).range() == *lock.range());
}

TEST_CASE("invalid options of a View are refused before anything is sent")
{
    ScriptedStore test;
    auto const refusal = [&](KeyRangePtr range, ViewOptions options) -> std::string {
        try {
            View const view(*test.store, std::move(range), options);
        } catch (std::invalid_argument const& error) {
            return error.what();
        }
        return {};
    };
    auto const range_of = [](std::string prefix, std::uint32_t count) {
        return std::make_shared<KeyRange const>(KeyRange{std::move(prefix), 0, count, true});
    };
    CHECK(documented(refusal(named_key("job"), {.refresh = 99ms})));
    CHECK(documented(refusal(named_key("job"), {.refresh = 1h + 1ms})));
    CHECK(documented(refusal(named_key("job"), {.refresh = -1ms})));
    CHECK(documented(refusal(nullptr, {})));
    CHECK(documented(refusal(range_of("", 1), {})));
    CHECK(documented(refusal(range_of("job", 0), {})));
    CHECK(refusal(named_key("job"), {.refresh = 100ms}).empty());
    CHECK(refusal(named_key("job"), {.refresh = 1h}).empty());
    test.runtime->run_ready();
}

} // namespace tenure::test
