// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A pool whose users prefer one number, on every store.
#include "conformance/locks/programs.hpp"

#include <tenure/slot_pool.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** One program that uses the pool of four. */
struct PoolWorker {
    PoolWorker(Programs& all, std::string name, std::uint32_t size = 4, std::chrono::milliseconds reuse_after = 0ms)
        : programs(all)
        , store(all.open(std::move(name)))
        , pool(store, {.prefix = all.key("worker:"), .size = size, .ttl = 30s, .reuse_after = reuse_after})
    {
    }

    void ask(std::uint32_t preferred)
    {
        error.reset();
        pool.async_acquire({.wait = 20s, .prefer = preferred}, [this](error_code failure, Slot granted) {
            error = failure;
            slot = std::move(granted);
        });
    }
    void await_slot()
    {
        programs.run_until([this] { return error.has_value(); });
        REQUIRE(*error == error_code());
    }
    std::uint32_t acquire(std::uint32_t preferred)
    {
        ask(preferred);
        await_slot();
        return slot.id();
    }
    void release()
    {
        std::optional<ReleaseOutcome> outcome;
        slot.async_release([&](error_code, ReleaseOutcome ended) { outcome = ended; });
        programs.run_until([&] { return outcome.has_value(); });
        REQUIRE(outcome == ReleaseOutcome::released);
    }

    Programs& programs;
    Store store;
    SlotPool pool;
    std::optional<error_code> error;
    Slot slot;
};

} // namespace

TEST_CASE("a worker gets the slot that it prefers if it is free, and another one at once if it is held", "[prefer]")
{
    Programs programs;
    PoolWorker first(programs, "first");
    PoolWorker second(programs, "second");
    CHECK(first.acquire(2) == 2);
    CHECK(first.slot.key() == programs.key("worker:2"));
    CHECK(second.acquire(2) == 0);
    auto const token = first.slot.fencing_token();
    first.release();
    PoolWorker third(programs, "third");
    CHECK(third.acquire(2) == 2);
    CHECK(third.slot.fencing_token() > token);
    third.release();
    // after its release the same number again
    CHECK(first.acquire(2) == 2);
    CHECK(first.slot.valid());
}

TEST_CASE("of two workers that prefer the same slot at a time each gets one of its own", "[prefer]")
{
    Programs programs;
    PoolWorker first(programs, "first");
    PoolWorker second(programs, "second");
    first.ask(3);
    second.ask(3);
    first.await_slot();
    second.await_slot();
    CHECK(first.slot.id() != second.slot.id());
    CHECK((first.slot.id() == 3 || second.slot.id() == 3));
}

TEST_CASE("a number that rests after its use is not granted to the worker that prefers it", "[prefer]")
{
    Programs programs;
    constexpr auto rest = 3s;
    std::optional<PoolWorker> worker;
    try {
        worker.emplace(programs, "worker", 3, rest);
    } catch (std::invalid_argument const&) {
        SKIP("this store has no quarantine");
    }
    PoolWorker other(programs, "other", 3, rest);
    CHECK(other.acquire(0) == 0);
    CHECK(worker->acquire(1) == 1);
    worker->release();
    auto const released = std::chrono::steady_clock::now();
    CHECK(worker->acquire(1) == 2);
    auto const second = std::move(worker->slot);
    CHECK(worker->acquire(1) == 1);
    CHECK(std::chrono::steady_clock::now() - released > rest - 500ms);
}

} // namespace tenure::test
