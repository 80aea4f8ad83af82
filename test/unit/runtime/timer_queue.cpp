// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <runtime/timer_queue.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace
{

using std::chrono::milliseconds;
using tenure::Instant;
using tenure::TimerQueue;

Instant instant(int when)
{
    return Instant{} + milliseconds(when);
}

/** Runs all that is due, and says what ran. */
std::vector<int> run(TimerQueue& queue, std::vector<int>& ran, int now)
{
    ran.clear();
    auto const among = queue.added();
    while (auto due = queue.take_due(instant(now), among))
        std::move(due)();
    return ran;
}

} // namespace

TEST_CASE("timers run in the order in which they are due, and those due together in the order they were set")
{
    TimerQueue queue;
    std::vector<int> ran;
    for (auto const& [when, name] : {std::pair{30, 1}, {10, 2}, {20, 3}, {10, 4}})
        (void)queue.add(instant(when), [&ran, number = name] { ran.push_back(number); });
    CHECK(queue.first_due() == instant(10));
    CHECK(run(queue, ran, 20) == std::vector{2, 4, 3});
    CHECK(queue.first_due() == instant(30));
    CHECK(run(queue, ran, 29).empty());
    CHECK(run(queue, ran, 30) == std::vector{1});
    CHECK(queue.empty());
    CHECK(queue.first_due() == Instant::max());
}

TEST_CASE("a timer that was removed does not run, and its name then means nothing")
{
    TimerQueue queue;
    std::vector<int> ran;
    auto const first = queue.add(instant(1), [&ran] { ran.push_back(1); });
    CHECK(queue.remove(first));
    CHECK_FALSE(queue.remove(first));
    CHECK_FALSE(queue.remove(0));
    CHECK(queue.empty());
    // it gets the place of the first, and not its name
    auto const second = queue.add(instant(2), [&ran] { ran.push_back(2); });
    CHECK_FALSE(queue.remove(first));
    CHECK(queue.first_due() == instant(2));
    CHECK(run(queue, ran, 5) == std::vector{2});
    CHECK_FALSE(queue.remove(second));
}

TEST_CASE("a timer set by a timer waits for the next round even where it is due already")
{
    TimerQueue queue;
    std::vector<int> ran;
    (void)queue.add(instant(1), [&] {
        ran.push_back(1);
        (void)queue.add(instant(0), [&ran] { ran.push_back(2); });
    });
    CHECK(run(queue, ran, 5) == std::vector{1});
    CHECK(run(queue, ran, 5) == std::vector{2});
}

TEST_CASE("a timer that sets itself for the past again and again keeps no other one waiting")
{
    TimerQueue queue;
    std::vector<int> ran;
    std::function<void()> again = [&] {
        ran.push_back(1);
        (void)queue.add(instant(0), [&] { again(); });
    };
    (void)queue.add(instant(0), [&] { again(); });
    CHECK(run(queue, ran, 4) == std::vector{1});
    (void)queue.add(instant(3), [&ran] { ran.push_back(2); });
    (void)queue.add(instant(5), [&ran] { ran.push_back(3); });
    CHECK(run(queue, ran, 5) == std::vector{1, 2, 3});
}

TEST_CASE("a timer may remove itself and others while it runs or is dropped")
{
    TimerQueue queue;
    std::vector<int> ran;
    TimerQueue::Id self = 0;
    auto const other = queue.add(instant(2), [&ran] { ran.push_back(2); });
    self = queue.add(instant(1), [&] {
        ran.push_back(1);
        CHECK_FALSE(queue.remove(self));
        CHECK(queue.remove(other));
    });
    CHECK(run(queue, ran, 5) == std::vector{1});

    auto const third = queue.add(instant(3), [] {});
    auto guard = std::shared_ptr<void>(nullptr, [&](void*) { CHECK(queue.remove(third)); });
    auto const holder = queue.add(instant(4), [guard = std::move(guard)] {});
    CHECK(queue.remove(holder));
    CHECK(queue.empty());
}

TEST_CASE("a hundred thousand timers that come and go behave like a sorted map")
{
    TimerQueue queue;
    std::mt19937_64 random(7);
    std::map<std::pair<Instant, std::uint64_t>, TimerQueue::Id> expected;
    std::vector<std::uint64_t> ran;
    int now = 0;
    for (std::uint64_t number = 1; number <= 100'000; ++number) {
        auto const when = instant(now + static_cast<int>(random() % 10'000));
        expected[{when, number}] = queue.add(when, [&ran, number] { ran.push_back(number); });
        if (random() % 8 != 0 && !expected.empty()) {
            auto const one =
                std::next(expected.begin(), static_cast<long>(random() % std::min<std::size_t>(expected.size(), 20)));
            REQUIRE(queue.remove(one->second));
            expected.erase(one);
        }
        if (random() % 50 == 0) {
            now += static_cast<int>(random() % 100);
            ran.clear();
            auto const among = queue.added();
            while (auto due = queue.take_due(instant(now), among))
                std::move(due)();
            std::vector<std::uint64_t> due;
            while (!expected.empty() && expected.begin()->first.first <= instant(now)) {
                due.push_back(expected.begin()->first.second);
                expected.erase(expected.begin());
            }
            REQUIRE(ran == due);
            REQUIRE(queue.first_due() == (expected.empty() ? Instant::max() : expected.begin()->first.first));
        }
    }
}
