// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Types of cancellation: which operation honours which.
#include "asio_contracts/keep_in.hpp"

#include <tenure/cancel_on.hpp>
#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/reentrant_lease.hpp>
#include <tenure/reentrant_lock.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/testing.hpp>
#include <tenure/view.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

using Type = asio::cancellation_type;

/** Held locks of every kind over a store that does not answer, and one operation on them. */
struct Operations : GrantingStore {
    Operations()
    {
        backend->answers_inspections = true;
        runtime->run_ready();
        acquire(lock, lease);
        acquire(reentrant, hold);
        acquire(pair, set);
        backend->claims.clear();
    }
    ~Operations()
    {
        cancel.emit(Type::terminal);
        runtime->run_ready();
    }

    /** For handlers of every operation. */
    auto note()
    {
        return asio::bind_cancellation_slot(cancel.slot(), [this](error_code error, auto&&...) { result = error; });
    }

    /** Sends this type to the operation before anything has answered it; true if that ended it. */
    bool is_ended_by(Type type)
    {
        cancel.emit(type);
        runtime->run_ready();
        return result == error_code(asio::error::operation_aborted);
    }

    asio::cancellation_signal cancel;
    std::optional<error_code> result;

    Lock lock{*store, {.key = "job", .ttl = 1h}};
    Lock busy{*store, {.key = "busy", .ttl = 1h}};
    Holder holder;
    ReentrantLock reentrant_lock{*store, {.key = "stock", .ttl = 1h}};
    ReentrantLock::ForHolder reentrant{reentrant_lock.for_holder(holder)};
    MultiLock pair{*store, {.keys = {"one", "two"}, .ttl = 1h}};
    View view{*store, named_key("job")};
    Election election{*store, {.name = "leader", .ttl = 1h}};
    Lease lease;
    ReentrantLease hold;
    LeaseSet set;
};

struct Named {
    std::string name;
    std::function<void(Operations&)> start;
};

// Each of them may have changed the store when it is cancelled.
Named const with_effect[] = {
    {"release", [](Operations& test) { test.lease.async_release(test.note()); }},
    {"release of a ReentrantLease", [](Operations& test) { test.hold.async_release(test.note()); }},
    {"release of a set", [](Operations& test) { test.set.async_release(test.note()); }},
    {"detachment", [](Operations& test) { test.lease.async_detach(2h, test.note()); }},
    {"renewal", [](Operations& test) { test.lease.async_renew(test.note()); }},
    {"renewal of a ReentrantLease", [](Operations& test) { test.hold.async_renew(test.note()); }},
    {"eviction",
     [](Operations& test) {
         test.store->async_evict({.range = test.lock.range(), .owner = test.lease.owner()}, "test", test.note());
     }},
    {"close", [](Operations& test) { test.store->async_close(1h, test.note()); }},
};

// A cancelled one leaves nothing behind.
Named const without_effect[] = {
    {"acquisition", [](Operations& test) { test.busy.async_acquire(test.note()); }},
    {"try", [](Operations& test) { test.busy.async_try_acquire(test.note()); }},
    {"acquisition of a ReentrantLease",
     [](Operations& test) { test.reentrant_lock.async_acquire(Holder(), AcquireOptions(), test.note()); }},
    {"acquisition of a set",
     [](Operations& test) {
         MultiLock(*test.store, {.keys = {"three", "four"}, .ttl = 1h}).async_acquire(test.note());
     }},
    {"acquisition for a holder",
     [](Operations& test) { test.holder.async_acquire(test.busy, AcquireOptions(), test.note()); }},
    {"wait for a token", [](Operations& test) { test.lease.token().async_wait(test.note()); }},
    {"wait for a risk", [](Operations& test) { test.lease.async_wait_at_risk(test.note()); }},
    {"inspection", [](Operations& test) { test.store->async_inspect(test.lock.range(), test.note()); }},
    {"wait until ready", [](Operations& test) { test.store->async_ready(1h, test.note()); }},
    {"wait for a change", [](Operations& test) { test.view.async_changed(test.view.snapshot().version, test.note()); }},
    {"wait for a leader",
     [](Operations& test) { test.election.async_next_leader(test.election.leader().version, test.note()); }},
};

} // namespace

TEST_CASE("cancellation_type::total does not end an operation that may have changed the store")
{
    for (auto const& operation : with_effect) {
        CAPTURE(operation.name);
        for (auto const type : {Type::none, Type::total}) {
            Operations test;
            operation.start(test);
            CHECK_FALSE(test.is_ended_by(type));
        }
        for (auto const type : {Type::terminal, Type::partial, Type::all, Type::total | Type::partial}) {
            Operations test;
            operation.start(test);
            CHECK(test.is_ended_by(type));
        }
    }
}

TEST_CASE("every type of cancellation but none ends an operation without a side effect")
{
    for (auto const& operation : without_effect) {
        CAPTURE(operation.name);
        {
            Operations test;
            operation.start(test);
            CHECK_FALSE(test.is_ended_by(Type::none));
        }
        for (auto const type : {Type::terminal, Type::partial, Type::total, Type::all}) {
            Operations test;
            operation.start(test);
            CHECK(test.is_ended_by(type));
        }
    }
}

TEST_CASE("a wait for virtual time honours every type of cancellation but none")
{
    auto const type = GENERATE(Type::none, Type::terminal, Type::partial, Type::total, Type::all);
    testing::VirtualTime time;
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    time.async_wait_for(1h, asio::bind_cancellation_slot(cancel.slot(), [&](error_code error) { result = error; }));
    cancel.emit(type);
    time.run_ready();
    CHECK(result.has_value() == (type != Type::none));
    time.run_for(2h);
    CHECK(result == (type == Type::none ? error_code() : error_code(asio::error::operation_aborted)));
}

TEST_CASE("cancel_on passes on the type of a cancellation, and no cancellation_type::none")
{
    Operations test;
    std::vector<Type> received;
    std::function<void(error_code)> complete;
    auto const initiation = [&](auto handler) {
        asio::get_associated_cancellation_slot(handler).assign([&](Type type) { received.push_back(type); });
        auto const kept = std::make_shared<decltype(handler)>(std::move(handler));
        complete = [kept](error_code error) { std::move (*kept)(error); };
    };
    auto token = cancel_on(test.lease.token(), test.note());
    asio::async_initiate<decltype(token), void(error_code)>(initiation, token);
    for (auto const type : {Type::none, Type::total, Type::partial})
        test.cancel.emit(type);
    CHECK(received == std::vector{Type::total, Type::partial});
    std::exchange(complete, nullptr)({});
    CHECK(test.result == error_code());
}
