// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A user's own code, tested for the day on which the token fires: an example of what <tenure/testing.hpp> is for.
#include <tenure/errc.hpp>
#include <tenure/inspection.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace
{

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace tenure;
using testing::SimulatedStore;
using testing::VirtualTime;

/** A service that writes records under the number of its slot, and stops when it can no longer rely on it. */
struct Service {
    VirtualTime& time;
    int written = 0;
    std::optional<CancelReason> stopped_for = std::nullopt;
    bool stopped_in_time = false;

    static asio::awaitable<void> run(Service* self, SlotPool pool)
    {
        Slot slot = co_await pool.async_acquire(asio::use_awaitable);
        auto const token = slot.token();
        while (!token.cancelled()) {
            ++self->written;
            co_await self->time.async_wait_for(10ms, asio::use_awaitable);
        }
        self->stopped_for = token.reason();
        self->stopped_in_time = slot.valid();
        co_await slot.async_release(asio::use_awaitable);
    }
};

struct Test {
    VirtualTime time;
    SimulatedStore simulated{time};
    Service service{time};

    void start()
    {
        SlotPool pool(simulated.open(), {.prefix = "worker:", .size = 4, .ttl = 3s});
        asio::co_spawn(time.get_executor(), Service::run(&service, std::move(pool)), [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
        time.run_for(10s);
        REQUIRE(service.written >= 990);
        REQUIRE_FALSE(service.stopped_for);
    }
};

struct Started : Test {
    Started() { start(); }
};

} // namespace

TEST_CASE("a service stops while its slot still holds when the store goes away")
{
    Started test;
    test.simulated.set_reachable(false);
    test.time.run_for(3s);
    CHECK(test.service.stopped_for == CancelReason::expired);
    CHECK(test.service.stopped_in_time);
    test.simulated.set_reachable(true);
    test.time.run_for(1s);
    CHECK_FALSE(test.simulated.held("worker:0"));
}

TEST_CASE("a store that is away for less than the lease allows costs a service nothing")
{
    Started test;
    test.simulated.set_reachable(false);
    test.time.run_for(900ms);
    test.simulated.set_reachable(true);
    test.simulated.answer_after(50ms);
    test.time.run_for(60s);
    CHECK_FALSE(test.service.stopped_for);
}

TEST_CASE("an examination of a store that does not examine itself ends without findings")
{
    Test test;
    auto const store = test.simulated.open();
    std::optional<Findings> found;
    store.async_examine(2s, [&](error_code error, Findings findings) {
        CHECK_FALSE(error);
        found = std::move(findings);
    });
    CHECK_FALSE(found);
    test.time.run_for(1s);
    REQUIRE(found);
    CHECK(found->empty());
}

TEST_CASE("a service stops when another client takes its slot, and leaves it to the new holder")
{
    Started test;
    SECTION("removed")
    {
        test.simulated.remove("worker:0");
    }
    SECTION("overwritten")
    {
        test.simulated.overwrite("worker:0", 1h);
    }
    bool const taken = test.simulated.held("worker:0");
    test.time.run_for(1100ms);
    CHECK(test.service.stopped_for == CancelReason::not_owner);
    CHECK(test.simulated.held("worker:0") == taken);
}

TEST_CASE("a service that was stopped for longer than its lease writes nothing when it goes on")
{
    Started test;
    auto const written = test.service.written;
    test.time.skip(10s);
    test.time.run_for(1s);
    CHECK(test.service.written == written);
    CHECK(test.service.stopped_for == CancelReason::expired);
    CHECK_FALSE(test.service.stopped_in_time);
}

TEST_CASE("answers that are lost end a lease in time, and a second process takes the slot")
{
    Started test;
    test.simulated.set_answers_lost(true);
    test.time.run_for(3s);
    CHECK(test.service.stopped_for == CancelReason::expired);
    test.simulated.set_answers_lost(false);
    SlotPool const other(test.simulated.open("other"), {.prefix = "worker:", .size = 1, .ttl = 3s});
    std::optional<error_code> error;
    Slot slot;
    other.async_acquire([&](error_code failure, Slot granted) {
        error = failure;
        slot = std::move(granted);
    });
    test.time.run_for(4s);
    CHECK(error == error_code());
    CHECK(slot.valid());
}

TEST_CASE("virtual time that ends destroys the coroutines that wait for it")
{
    auto const signal = std::make_shared<asio::cancellation_signal>();
    {
        VirtualTime time;
        auto const wait = [](VirtualTime* time) -> asio::awaitable<void> {
            co_await time->async_wait_for(1h, asio::use_awaitable);
        };
        // the handler owns what can cancel it
        auto const ended = [signal](std::exception_ptr const&) {};
        asio::co_spawn(time.get_executor(), wait(&time), asio::bind_cancellation_slot(signal->slot(), ended));
        time.run_for(1s);
        CHECK(signal.use_count() > 2);
    }
    CHECK(signal.use_count() == 1);
}
