// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The hook for tracing: what it is told, and that it can do no harm.
#include "unit/job_pool.hpp"

#include <tenure/errc.hpp>
#include <tenure/event.hpp>

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** The calls of the hook, which come from another thread. */
class Heard
{
public:
    void add(Event const& event)
    {
        std::lock_guard const lock(mutex_);
        events_.push_back(event);
        thread_ = std::this_thread::get_id();
    }
    /** All of it, until now. */
    [[nodiscard]] std::vector<Event> all() const
    {
        REQUIRE(flush_log(10s));
        std::lock_guard const lock(mutex_);
        return events_;
    }
    [[nodiscard]] std::vector<Event::Kind> kinds() const
    {
        std::vector<Event::Kind> result;
        for (auto const& event : all())
            result.push_back(event.kind);
        return result;
    }
    [[nodiscard]] std::thread::id thread() const
    {
        std::lock_guard const lock(mutex_);
        return thread_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::thread::id thread_;
};

using Kinds = std::vector<Event::Kind>;

struct EventTest : JobPool {
    explicit EventTest(std::shared_ptr<Heard> hears = std::make_shared<Heard>())
        : EventTest([hears](Event const& event) { hears->add(event); })
    {
        heard = std::move(hears);
    }
    explicit EventTest(EventHook hook)
        : JobPool({.on_event = std::move(hook)})
    {
    }

    std::shared_ptr<Heard> heard;
};

} // namespace

TEST_CASE("a hook hears of the grant and the release, with key, slot, worker and durations", "[events]")
{
    EventTest test;
    Attempt<Slot> attempt;
    test.acquire(attempt);
    auto const owner = attempt.holding.owner();
    test.runtime->run_for(500ms);
    attempt.holding = Slot();
    test.runtime->run_ready();
    auto const events = test.heard->all();
    REQUIRE(test.heard->kinds() == Kinds{Event::Kind::acquired, Event::Kind::released});
    for (auto const& event : events) {
        CHECK(event.store == "scripted://");
        CHECK(event.key == "job:2");
        CHECK(event.slot == 2U);
        CHECK(event.worker == "w1");
        CHECK(event.note == "rack 7");
        CHECK(event.fencing_token == 1);
    }
    CHECK(events[0].duration == 40ms);
    CHECK(events[0].remaining > 2s);
    CHECK(events[0].reason == CancelReason::none);
    CHECK(events[1].duration >= 500ms);
    CHECK(events[1].duration < 501ms);
    CHECK(events[1].at - events[0].at == 500ms);
    CHECK(events[1].reason == CancelReason::released);
    CHECK(test.heard->thread() != std::this_thread::get_id());
    // the last part of an owner is its holder's secret
    auto const secret = owner.substr(owner.rfind('/') + 1);
    REQUIRE(secret.size() == 32);
    for (auto const& event : events)
        for (auto const& text : {event.store, event.key, event.worker, event.note})
            CHECK(text.find(secret) == std::string::npos);
}

TEST_CASE("a hook hears of a wait, whether it ends with a lease or not", "[events]")
{
    EventTest test;
    Attempt<Slot> waiter;
    waiter.start(*test.pool, {.wait = 2s});
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, Busy{.earliest_expiry = 300ms});
    test.runtime->run_for(400ms);
    REQUIRE_FALSE(test.backend->claims.empty());
    SECTION("with a lease")
    {
        test.backend->answer(test.backend->claims, test.grant(3s, 1));
        test.runtime->run_ready();
        REQUIRE(test.heard->kinds() == Kinds{Event::Kind::waited, Event::Kind::acquired});
        auto const waited = test.heard->all().front();
        CHECK(waited.key == "job:0..3");
        CHECK_FALSE(waited.slot);
        CHECK(waited.worker == "w1");
        CHECK(waited.note == "rack 7");
        CHECK(waited.duration >= 400ms);
        CHECK_FALSE(waited.error);
    }
    SECTION("with none")
    {
        waiter.cancel.emit(asio::cancellation_type::terminal);
        test.runtime->run_ready();
        REQUIRE(test.heard->kinds() == Kinds{Event::Kind::waited});
        CHECK(test.heard->all().front().error == asio::error::operation_aborted);
    }
}

TEST_CASE("a hook hears of risk, of a late renewal and of a loss", "[events]")
{
    EventTest test;
    Attempt<Slot> attempt;
    test.acquire(attempt);
    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, Failure::unknown(make_error_code(errc::store_unavailable), "cut off"));
    test.runtime->run_for(100ms);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, Renewed{3s, test.runtime->now()});
    test.runtime->run_for(1100ms);
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    attempt.holding = Slot();
    test.runtime->run_ready();
    REQUIRE(
        test.heard->kinds() == Kinds{
                                   Event::Kind::acquired, Event::Kind::at_risk, Event::Kind::renewed_late,
                                   Event::Kind::lost, Event::Kind::released});
    auto const events = test.heard->all();
    CHECK(events[1].remaining < 2s);
    CHECK(events[2].remaining > 2s);
    CHECK(events[3].reason == CancelReason::not_owner);
    CHECK(events[4].reason == CancelReason::not_owner);
}

TEST_CASE("each event has what its acquisition's caller gave it, from the caller's thread", "[events]")
{
    EventTest test;
    StoreOptions options;
    options.on_event = [heard = test.heard](Event const& event) { heard->add(event); };
    int value = 0;
    bool fails = false;
    options.event_context = [&, caller = std::this_thread::get_id()]() -> std::shared_ptr<void> {
        CHECK(std::this_thread::get_id() == caller);
        if (fails)
            throw std::runtime_error("context");
        return std::make_shared<int>(++value);
    };
    Store const store(test.runtime, test.backend, options);
    SlotPool const pool(store, {.prefix = "job:", .size = 4, .ttl = 3s});
    Attempt<Slot> attempts[3];
    for (auto& attempt : attempts) {
        fails = &attempt == &attempts[2];
        test.acquire_at_once(attempt, pool, 3s);
    }
    for (auto& attempt : attempts)
        attempt.holding = Slot();
    test.runtime->run_ready();
    std::vector<int> values;
    for (auto const& event : test.heard->all())
        values.push_back(event.context ? *std::static_pointer_cast<int>(event.context) : 0);
    CHECK(values == std::vector{1, 2, 0, 1, 2, 0});
}

TEST_CASE("an exception of a hook does no harm", "[events]")
{
    EventTest test([](Event const&) { throw std::runtime_error("hook"); });
    Attempt<Slot> attempt;
    test.acquire(attempt);
    CHECK(flush_log(10s));
    CHECK(attempt.holding.valid());
}

TEST_CASE("a hook that blocks delays no lease, and what it cannot take is dropped and counted", "[events]")
{
    struct Gate {
        std::mutex mutex;
        std::condition_variable changed;
        bool open = false;
        std::size_t passed = 0;
    };
    auto const gate = std::make_shared<Gate>();
    EventTest test([gate](Event const&) {
        std::unique_lock lock(gate->mutex);
        gate->changed.wait(lock, [&] { return gate->open; });
        ++gate->passed;
    });
    constexpr std::size_t rounds = 1500;
    for (std::size_t round = 0; round < rounds; ++round) {
        Attempt<Slot> attempt;
        attempt.start(*test.pool);
        test.runtime->run_ready();
        test.backend->answer(test.backend->claims, test.grant(3s, 2));
        test.runtime->run_ready();
        REQUIRE(attempt.error == error_code());
        attempt.holding = Slot();
        test.runtime->run_ready();
        test.backend->answer(test.backend->releases, Released{});
        test.runtime->run_ready();
    }
    auto const dropped = test.store->statistics().events_dropped;
    CHECK(dropped > 0);
    {
        std::lock_guard const lock(gate->mutex);
        gate->open = true;
    }
    gate->changed.notify_all();
    REQUIRE(flush_log(10s));
    std::lock_guard const lock(gate->mutex);
    CHECK(gate->passed + dropped == 2 * rounds);
}

} // namespace tenure::test
