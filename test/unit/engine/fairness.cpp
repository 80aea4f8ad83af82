// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Stores that contend for the same keys without rest, in virtual time.
#include <tenure/lock.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/testing.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr std::size_t store_count = 8;

/** One store's user: acquires, holds, destroys the lease, and begins anew at once. */
template <class Source, class Holding>
class Worker
{
public:
    Worker(testing::VirtualTime& time, Source source, Clock::duration hold)
        : time_(time)
        , source_(std::move(source))
        , hold_(hold)
    {
    }

    void begin()
    {
        asked_ = time_.now();
        source_.async_acquire({.wait = 1h}, [this](error_code error, Holding granted) {
            REQUIRE_FALSE(error);
            longest_wait = std::max(longest_wait, time_.now() - asked_);
            ++grants;
            holding_ = std::move(granted);
            time_.async_wait_for(hold_, [this](error_code) {
                holding_ = Holding();
                begin();
            });
        });
    }

    std::size_t grants = 0;
    Clock::duration longest_wait{};

private:
    testing::VirtualTime& time_;
    Source source_;
    Clock::duration hold_;
    Instant asked_{};
    Holding holding_;
};

template <class Holding, class Open>
void contend(std::size_t keys, Clock::duration hold, Open open)
{
    testing::VirtualTime time;
    testing::SimulatedStore simulated(time);
    simulated.answer_after(300us);
    std::vector<Store> stores;
    std::vector<std::unique_ptr<Worker<decltype(open(stores.front())), Holding>>> workers;
    for (std::size_t number = 0; number < store_count; ++number)
        stores.push_back(simulated.open("store" + std::to_string(number)));
    for (auto& store : stores)
        workers.push_back(std::make_unique<Worker<decltype(open(store)), Holding>>(time, open(store), hold));
    for (auto const& worker : workers)
        worker->begin();
    time.run_for(15s);
    std::size_t total = 0;
    for (auto const& worker : workers)
        total += worker->grants;
    auto const mean = total / store_count;
    for (auto const& worker : workers) {
        CHECK(worker->grants >= mean / 2);
        CHECK(worker->grants <= mean * 2);
        CHECK(worker->longest_wait <= 10 * store_count * hold);
    }
    // no more than a fifth of the keys' time is lost
    auto const possible = keys * static_cast<std::size_t>(15s / hold);
    CHECK(total >= possible * 4 / 5);
}

} // namespace

TEST_CASE("stores that contend for a lock without rest get it in turns, and little of its time is lost")
{
    for (auto const hold : {5ms, 20ms}) {
        CAPTURE(hold.count());
        contend<Lease>(1, hold, [](Store& store) { return Lock(store, {.key = "k", .ttl = 3s}); });
    }
}

TEST_CASE("stores that contend for the slots of a pool without rest get them in turns")
{
    contend<Slot>(3, 5ms, [](Store& store) { return SlotPool(store, {.size = 3, .ttl = 3s}); });
}

} // namespace tenure::test
