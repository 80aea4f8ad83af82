// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Memory of an operation: from its handler's allocator, and freed before the handler runs.
#include "asio_contracts/arena.hpp"
#include "asio_contracts/keep_in.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/cancel_on.hpp>
#include <tenure/election.hpp>
#include <tenure/holder.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/open_store.hpp>
#include <tenure/reentrant_lease.hpp>
#include <tenure/reentrant_lock.hpp>
#include <tenure/run.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/stores/memory.hpp>
#include <tenure/view.hpp>
#include <tenure/with_lease.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <memory_resource>
#include <utility>

namespace asio = boost::asio;
using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

asio::awaitable<void> no_work(Lease&)
{
    co_return;
}

asio::awaitable<int> until_lost(Slot& slot)
{
    co_await slot.token().async_wait(asio::deferred);
    co_return 1;
}

/** Held locks of every kind over a memory store, and one operation on them. */
struct ArenaTest {
    ArenaTest()
    {
        acquire(lock, lease);
        acquire(reentrant, hold);
        acquire(pair, set);
    }
    template <class Source, class Held>
    void acquire(Source const& source, Held& held)
    {
        source.async_acquire(AcquireOptions(), keep_in(held));
        while (held.empty())
            REQUIRE(context.run_one_for(5s) == 1);
    }

    auto handler() { return arena.handler(); }

    asio::io_context context;
    OperationArena arena;
    Store store{open_store(context, MemoryConfig{})};
    Lock lock{store, {.key = "job", .ttl = 1h}};
    Lock free{store, {.key = "free", .ttl = 1h}};
    SlotPool pool{store, {.size = 2, .ttl = 1h}};
    Holder holder;
    ReentrantLock reentrant_lock{store, {.key = "stock", .ttl = 1h}};
    ReentrantLock::ForHolder reentrant{reentrant_lock.for_holder(holder)};
    MultiLock pair{store, {.keys = {"one", "two"}, .ttl = 1h}};
    View view{store, named_key("job"), {.refresh = 100ms}};
    Election election{store, {.name = "leader", .ttl = 1h, .refresh = 100ms}};
    Lease lease;
    ReentrantLease hold;
    LeaseSet set;
};

struct InArena {
    char const* name;
    void (*start)(ArenaTest&);
};

// The handler takes one block, and its operation another.
InArena const operations[] = {
    {"acquisition", [](ArenaTest& test) { test.free.async_acquire(test.handler()); }},
    {"acquisition that times out", [](ArenaTest& test) { test.lock.async_acquire(1ms, test.handler()); }},
    {"try", [](ArenaTest& test) { test.lock.async_try_acquire(test.handler()); }},
    {"acquisition of a slot", [](ArenaTest& test) { test.pool.async_acquire(test.handler()); }},
    {"acquisition with a handler on a strand",
     [](ArenaTest& test) {
         test.free.async_acquire(asio::bind_executor(asio::make_strand(test.context), test.handler()));
     }},
    {"acquisition for a holder",
     [](ArenaTest& test) { test.holder.async_acquire(test.free, AcquireOptions(), test.handler()); }},
    {"acquisition of a ReentrantLease",
     [](ArenaTest& test) { test.reentrant_lock.async_acquire(Holder(), 1ms, test.handler()); }},
    {"another ReentrantLease", [](ArenaTest& test) { test.reentrant.async_acquire(AcquireOptions(), test.handler()); }},
    {"acquisition of a set",
     [](ArenaTest& test) {
         MultiLock(test.store, {.keys = {"three", "four"}, .ttl = 1h}).async_acquire(test.handler());
     }},
    {"renewal", [](ArenaTest& test) { test.lease.async_renew(test.handler()); }},
    {"detachment", [](ArenaTest& test) { test.lease.async_detach(2h, test.handler()); }},
    {"release", [](ArenaTest& test) { test.lease.async_release(test.handler()); }},
    {"release of a ReentrantLease", [](ArenaTest& test) { test.hold.async_release(test.handler()); }},
    {"release of a set", [](ArenaTest& test) { test.set.async_release(test.handler()); }},
    {"wait for a token",
     [](ArenaTest& test) {
         test.lease.token().async_wait(test.handler());
         test.lease = Lease();
     }},
    {"wait for a risk",
     [](ArenaTest& test) {
         test.lease.async_wait_at_risk(test.handler());
         test.lease = Lease();
     }},
    {"wait until ready", [](ArenaTest& test) { test.store.async_ready(1h, test.handler()); }},
    {"close", [](ArenaTest& test) { test.store.async_close(1s, test.handler()); }},
    {"inspection", [](ArenaTest& test) { test.store.async_inspect(test.lock.range(), test.handler()); }},
    {"inspection without a range", [](ArenaTest& test) { test.store.async_inspect(nullptr, test.handler()); }},
    {"eviction",
     [](ArenaTest& test) {
         test.store.async_evict({.range = test.lock.range(), .owner = test.lease.owner()}, "test", test.handler());
     }},
    {"wait for a change",
     [](ArenaTest& test) { test.view.async_changed(test.view.snapshot().version, test.handler()); }},
    {"wait for a leader",
     [](ArenaTest& test) {
         test.election.async_campaign([&test](error_code, Lease lease) { test.lease = std::move(lease); });
         test.election.async_next_leader(test.election.leader().version, test.handler());
     }},
};

// The handler is called without type erasure, so only its operation takes a block.
InArena const work[] = {
    {"async_with_lease", [](ArenaTest& test) { async_with_lease(std::move(test.lease), no_work, test.handler()); }},
    {"async_run", [](ArenaTest& test) { async_run(test.free, no_work, test.handler()); }},
    {"async_run that acquires no lease",
     [](ArenaTest& test) { async_run(test.lock, no_work, AcquireOptions{.wait = 1ms}, test.handler()); }},
};

/** Keeps its handler in memory of its own, so that the arena counts only blocks of the library. */
struct StoresHandler {
    std::function<void(error_code)>& complete;

    template <class Handler>
    void operator()(Handler handler) const
    {
        auto const kept = std::make_shared<Handler>(std::move(handler));
        complete = [kept](error_code error) {
            auto called = std::move(*kept);
            std::move(called)(error);
        };
    }
};

/** A slot of a store that answers only as the test says. */
struct HeldSlot : ScriptedStore {
    HeldSlot()
    {
        Attempt<Slot> attempt;
        attempt.start(pool);
        runtime->run_ready();
        backend->answer(backend->claims, grant(1h));
        runtime->run_ready();
        slot = std::move(attempt.holding);
    }
    auto handler() { return asio::bind_cancellation_slot(cancel.slot(), arena.handler()); }

    SlotPool pool{*store, {.size = 2, .ttl = 1h}};
    Slot slot;
    OperationArena arena;
    asio::cancellation_signal cancel;
};

} // namespace

TEST_CASE("an operation frees the memory of its handler's allocator before it calls the handler")
{
    auto const check = [](InArena const& operation, std::size_t at_least) {
        CAPTURE(operation.name);
        ArenaTest test;
        operation.start(test);
        while (!test.arena.ended())
            REQUIRE(test.context.run_one_for(5s) == 1);
        test.arena.check(at_least);
    };
    for (auto const& operation : operations)
        check(operation, 2);
    for (auto const& operation : work)
        check(operation, 1);
}

TEST_CASE("an operation without a store frees the memory of its handler's allocator before it calls the handler")
{
    // outlives the thread of Asio's system_executor, which passes the handler on
    static asio::io_context context;
    OperationArena arena;
    auto const handler = [&] { return asio::bind_executor(context, arena.handler()); };
    std::size_t at_least = 0;
    SECTION("release")
    {
        at_least = 2;
        Lease().async_release(handler());
    }
    SECTION("async_with_lease")
    {
        at_least = 1;
        async_with_lease(Lease(), no_work, handler());
    }
    context.restart();
    context.run_for(5s);
    arena.check(at_least);
}

TEST_CASE("a cancelled operation frees the memory of its handler's allocator before it calls the handler")
{
    HeldSlot test;
    SECTION("acquisition, whose request is still unanswered")
    {
        test.pool.async_acquire(test.handler());
        test.runtime->run_ready();
        test.cancel.emit(asio::cancellation_type::total);
        test.runtime->run_ready();
        test.arena.check(2);
    }
    SECTION("work under a lease")
    {
        async_with_lease(std::move(test.slot), until_lost, test.handler());
        test.runtime->run_ready();
        test.cancel.emit(asio::cancellation_type::terminal);
        test.runtime->run_ready();
        test.backend->answer(test.backend->releases, Released{});
        test.runtime->run_ready();
        test.arena.check(1);
    }
    SECTION("run of work that waits for a lease")
    {
        async_run(test.pool, [](Slot&) -> asio::awaitable<void> { co_return; }, test.handler());
        test.runtime->run_ready();
        test.cancel.emit(asio::cancellation_type::total);
        test.runtime->run_ready();
        test.arena.check(1);
    }
}

TEST_CASE("cancel_on frees the memory of its handler's allocator before it calls the handler")
{
    HeldSlot test;
    std::function<void(error_code)> complete;
    auto token = cancel_on(test.slot.token(), test.handler());
    asio::async_initiate<decltype(token), void(error_code)>(StoresHandler{complete}, token);
    // the wait for the lease's token has not ended
    std::exchange(complete, nullptr)({});
    test.arena.check(1);
    test.runtime->run_ready();
}

TEST_CASE("an operation that is destroyed frees the memory of its handler's allocator")
{
    Arena arena;
    {
        HeldSlot test;
        auto const in_arena = [&] {
            return asio::bind_allocator(
                std::pmr::polymorphic_allocator<std::byte>(&arena), [](auto&&...) { FAIL("it was called"); });
        };
        test.pool.async_acquire(forever, in_arena());
        test.slot.token().async_wait(in_arena());
        async_run(test.pool, [](Slot&) -> asio::awaitable<void> { co_return; }, in_arena());
        // the allocator is a part of this handler
        async_run(
            test.pool, [](Slot&) -> asio::awaitable<void> { co_return; },
            asio::any_completion_handler<void(std::exception_ptr)>(in_arena()));
        test.runtime->run_ready();
        CHECK(arena.unfreed() >= 6);
        test.runtime->discard();
        test.runtime->end_context();
    }
    CHECK(arena.unfreed() == 0);
}
