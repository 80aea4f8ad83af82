// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Results that are known at once: they complete through the handler's immediate executor.
#include "asio_contracts/keep_in.hpp"

#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/reentrant_lease.hpp>
#include <tenure/reentrant_lock.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/view.hpp>
#include <tenure/with_lease.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/bind_immediate_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/errc.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace asio = boost::asio;
using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

/** Runs each function inside `execute`, and counts them. */
struct InlineExecutor {
    int* runs;

    template <class Function>
    void execute(Function&& function) const
    {
        ++*runs;
        std::decay_t<Function> called(std::forward<Function>(function));
        std::move(called)();
    }
    bool operator==(InlineExecutor const&) const noexcept = default;
};

/** Held locks of every kind, and one operation on them. */
struct ImmediateTest : GrantingStore {
    ImmediateTest()
    {
        backend->answers_inspections = true;
        runtime->run_ready();
        acquire(reentrant, hold);
        acquire(reentrant, second_hold);
        acquire(lock, lease);
    }

    void release()
    {
        lease.async_release([](error_code, ReleaseOutcome) {});
        runtime->run_ready();
        answer_release();
    }

    void close()
    {
        store->async_close(1ms, [](error_code) {});
        runtime->run_for(1s);
    }

    /** For handlers of every operation. It uses the objects that have a mutex. */
    auto note()
    {
        return [this](error_code error, auto&&...) {
            result = error;
            static_cast<void>(view.snapshot());
            lease.token().async_wait([](error_code) {});
            reentrant.async_acquire(AcquireOptions(), [](error_code, ReentrantLease) {});
        };
    }
    auto handler() { return asio::bind_immediate_executor(InlineExecutor{&runs}, note()); }

    int runs = 0;
    std::optional<error_code> result;

    Lock lock{*store, {.key = "job", .ttl = 1h}};
    SlotPool pool{*store, {.size = 2, .ttl = 1h}};
    Holder holder;
    ReentrantLock reentrant_lock{*store, {.key = "stock", .ttl = 1h}};
    ReentrantLock::ForHolder reentrant{reentrant_lock.for_holder(holder)};
    View view{*store, named_key("job")};
    Election election{*store, {.name = "leader", .ttl = 1h}};
    Lease lease;
    ReentrantLease hold;
    ReentrantLease second_hold;
};

/** Calls `visit(name, start)` for each operation whose result is known at once; `start(test, handler)` begins it. */
template <class Visit>
void for_each_known_at_once(Visit visit)
{
    visit("acquisition with a negative wait", [](auto& test, auto handler) {
        test.pool.async_acquire(-1ms, std::move(handler));
    });
    visit("try that would wait", [](auto& test, auto handler) {
        AcquireOptions const waits{.wait = 1s};
        test.pool.async_try_acquire(waits, std::move(handler));
    });
    visit("acquisition for a holder with a negative wait", [](auto& test, auto handler) {
        AcquireOptions const negative{.wait = -1ms};
        test.holder.async_acquire(test.lock, negative, std::move(handler));
    });
    visit("acquisition of a set of one with a negative wait", [](auto& test, auto handler) {
        MultiLock(*test.store, {.keys = {"one"}, .ttl = 1h}).async_acquire(-1ms, std::move(handler));
    });
    visit("acquisition of a set of two with a negative wait", [](auto& test, auto handler) {
        MultiLock(*test.store, {.keys = {"one", "two"}, .ttl = 1h}).async_acquire(-1ms, std::move(handler));
    });
    visit("try of a set of two that would wait", [](auto& test, auto handler) {
        AcquireOptions const waits{.wait = 1s};
        MultiLock(*test.store, {.keys = {"one", "two"}, .ttl = 1h}).async_try_acquire(waits, std::move(handler));
    });
    visit("acquisition in a closed store", [](auto& test, auto handler) {
        test.close();
        test.pool.async_acquire(std::move(handler));
    });
    visit("acquisition of a set of two in a closed store", [](auto& test, auto handler) {
        test.close();
        MultiLock(*test.store, {.keys = {"one", "two"}, .ttl = 1h}).async_acquire(std::move(handler));
    });
    visit("acquisition of a ReentrantLease in a closed store", [](auto& test, auto handler) {
        test.close();
        ReentrantLock(*test.store, {.key = "other", .ttl = 1h}).async_acquire(test.holder, std::move(handler));
    });
    visit("wait for a closed store to become ready", [](auto& test, auto handler) {
        test.close();
        test.store->async_ready(1s, std::move(handler));
    });
    visit("inspection in a closed store", [](auto& test, auto handler) {
        test.close();
        test.store->async_inspect(named_key("job"), std::move(handler));
    });
    visit("closing a closed store", [](auto& test, auto handler) {
        test.close();
        test.store->async_close(1s, std::move(handler));
    });
    visit("acquisition of a ReentrantLease with a negative wait", [](auto& test, auto handler) {
        test.reentrant.async_acquire(-1ms, std::move(handler));
    });
    visit("another ReentrantLease", [](auto& test, auto handler) {
        test.reentrant.async_acquire(AcquireOptions(), std::move(handler));
    });
    visit("another ReentrantLease with another ttl", [](auto& test, auto handler) {
        AcquireOptions const other{.ttl = 2h};
        test.reentrant.async_acquire(other, std::move(handler));
    });
    visit("release of a ReentrantLease that is not the last one", [](auto& test, auto handler) {
        test.hold.async_release(std::move(handler));
    });
    visit("release of a released lease", [](auto& test, auto handler) {
        test.release();
        test.lease.async_release(std::move(handler));
    });
    visit("renewal of a released lease", [](auto& test, auto handler) {
        test.release();
        test.lease.async_renew(std::move(handler));
    });
    visit("detachment of a released lease", [](auto& test, auto handler) {
        test.release();
        test.lease.async_detach(2h, std::move(handler));
    });
    visit("wait for a risk of a released lease", [](auto& test, auto handler) {
        test.release();
        test.lease.async_wait_at_risk(std::move(handler));
    });
    visit("wait for a cancelled token", [](auto& test, auto handler) {
        test.release();
        test.lease.token().async_wait(std::move(handler));
    });
    visit("renewal with a negative ttl", [](auto& test, auto handler) {
        test.lease.async_renew(-1ms, std::move(handler));
    });
    visit("inspection without a range", [](auto& test, auto handler) {
        test.store->async_inspect(nullptr, std::move(handler));
    });
    visit("eviction of no key", [](auto& test, auto handler) {
        KeyState const none;
        test.store->async_evict(none, "test", std::move(handler));
    });
    visit("wait for a change that has happened", [](auto& test, auto handler) {
        test.view.async_changed(test.view.snapshot().version + 1, std::move(handler));
    });
    visit("wait for a leader after a change", [](auto& test, auto handler) {
        test.election.async_next_leader(test.election.leader().version + 1, std::move(handler));
    });
    visit("wait for a change in a closed store", [](auto& test, auto handler) {
        test.close();
        test.view.async_changed(test.view.snapshot().version, std::move(handler));
    });
}

/** Operations whose results are known at once, in a coroutine that ends inside the last one. */
asio::awaitable<void> in_coroutine(ImmediateTest& test)
{
    auto const at_once = [&](auto token) {
        return asio::bind_immediate_executor(InlineExecutor{&test.runs}, std::move(token));
    };
    error_code error;
    co_await Lease().token().async_wait(at_once(asio::use_awaitable));
    auto const again = co_await test.reentrant.async_acquire(AcquireOptions(), at_once(asio::use_awaitable));
    co_await test.view.async_changed(test.view.snapshot().version + 1, at_once(asio::use_awaitable));
    auto const none = co_await test.pool.async_acquire(-1ms, at_once(asio::redirect_error(asio::use_awaitable, error)));
    if (again.valid() && none.empty())
        test.result = error;
}

} // namespace

TEST_CASE("a result that is known at once is posted by default")
{
    for_each_known_at_once([](char const* name, auto start) {
        CAPTURE(name);
        ImmediateTest test;
        start(test, test.note());
        CHECK_FALSE(test.result);
        test.runtime->run_ready();
        CHECK(test.result);
    });
}

TEST_CASE("a result that is known at once completes through the bound immediate executor")
{
    for_each_known_at_once([](char const* name, auto start) {
        CAPTURE(name);
        ImmediateTest test;
        start(test, test.handler());
        CHECK(test.result);
        CHECK(test.runs == 1);
        test.runtime->run_ready();
        CHECK(test.runs == 1);
    });
}

TEST_CASE("operations of objects without a grant complete through the bound immediate executor")
{
    ImmediateTest test;
    Lease().async_release(test.handler());
    Lease().async_wait_at_risk(test.handler());
    Lease().token().async_wait(test.handler());
    LeaseSet().async_release(test.handler());
    ReentrantLease().async_renew(test.handler());
    CHECK(test.runs == 5);
}

TEST_CASE("work under a lease that is empty or released completes through the bound immediate executor")
{
    ImmediateTest test;
    auto const work = [](Lease&) -> asio::awaitable<int> {
        FAIL("the work was called");
        co_return 0;
    };
    std::exception_ptr failure;
    auto const handler = [&] {
        return asio::bind_immediate_executor(
            InlineExecutor{&test.runs}, [&](std::exception_ptr error, int) { failure = std::move(error); });
    };
    async_with_lease(Lease(), work, handler());
    CHECK(test.runs == 1);
    CHECK(std::exchange(failure, nullptr));
    test.lease.async_release([](error_code, ReleaseOutcome) {});
    async_with_lease(std::move(test.lease), work, handler());
    CHECK(test.runs == 2);
    CHECK(std::exchange(failure, nullptr));
    ImmediateTest without;
    without.lease.async_release([](error_code, ReleaseOutcome) {});
    async_with_lease(
        std::move(without.lease), work, [&](std::exception_ptr error, int) { failure = std::move(error); });
    CHECK_FALSE(failure);
    without.runtime->run_ready();
    CHECK(failure);
}

TEST_CASE("any_completion_handler passes on the immediate executor")
{
    ImmediateTest test;
    test.pool.async_acquire(-1ms, asio::any_completion_handler<void(error_code, Slot)>(test.handler()));
    CHECK(test.result == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.runs == 1);
}

TEST_CASE("a handler with an executor runs there, also after an immediate executor")
{
    ImmediateTest test;
    test.pool.async_acquire(-1ms, asio::bind_executor(test.runtime->user_executor(), test.handler()));
    CHECK(test.runs == 1);
    CHECK_FALSE(test.result);
    test.runtime->run_ready();
    CHECK(test.result == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.runs == 1);
}

TEST_CASE("a result that is known later does not use the immediate executor")
{
    ImmediateTest test;
    test.pool.async_acquire(test.handler());
    test.runtime->run_ready();
    test.backend->answer(test.backend->claims, test.grant(1h));
    test.runtime->run_ready();
    CHECK(test.result == error_code());
    CHECK(test.runs == 0);
}

TEST_CASE("coroutines may resume and end inside an operation whose result is known at once")
{
    ImmediateTest test;
    asio::co_spawn(test.runtime->user_executor(), in_coroutine(test), asio::detached);
    test.runtime->run_ready();
    CHECK(test.result == make_error_code(boost::system::errc::invalid_argument));
    CHECK(test.runs == 4);
}
