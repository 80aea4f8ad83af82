// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// When causes that repeat are logged.
#include "runtime/repeat_schedule.hpp"

#include "runtime/repeated_causes.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr Instant start{100h};

using Times = std::vector<Clock::duration>;

/** When a cause that occurs again after each pause is logged, from `start`; counted occurrences are logged when due. */
Times logged(RepeatSchedule& schedule, Clock::duration pause, Clock::duration until)
{
    Times times;
    for (auto now = start; now < start + until; now += pause) {
        for (auto due = schedule.due(); due < now; due = schedule.due()) {
            REQUIRE(schedule.take(due));
            times.push_back(due - start);
        }
        if (schedule.happened(now))
            times.push_back(now - start);
    }
    return times;
}

} // namespace

TEST_CASE("a cause that repeats is logged at once, after 1, 10 and 60 s, and then every 10 min", "[log]")
{
    RepeatSchedule schedule;
    Times expected{0s, 1s, 10s, 60s};
    for (auto next = 60s + 10min; next < 2h; next += 10min)
        expected.emplace_back(next);
    CHECK(logged(schedule, 10ms, 2h) == expected);
}

TEST_CASE("a line has the occurrences since the last one, and those since the cause began", "[log]")
{
    RepeatSchedule schedule;
    auto const first = schedule.happened(start);
    REQUIRE(first);
    CHECK(first->more == 1);
    CHECK(first->since_line == 0s);
    CHECK(schedule.due() == Instant::max());
    for (int i = 0; i < 10; ++i)
        CHECK_FALSE(schedule.happened(start + 300ms));
    CHECK(schedule.due() == start + 1s);
    auto const second = schedule.take(schedule.due());
    REQUIRE(second);
    CHECK(second->more == 10);
    CHECK(second->since_line == 1s);
    CHECK_FALSE(schedule.take(start + 1s));
    CHECK_FALSE(schedule.happened(start + 5s));
    auto const third = schedule.happened(start + 10s);
    REQUIRE(third);
    CHECK(third->more == 2);
    CHECK(third->since_line == 9s);
    CHECK(third->total == 13);
    CHECK(third->lasting == 10s);
}

TEST_CASE("a cause that has not occurred for a minute is news", "[log]")
{
    RepeatSchedule schedule;
    REQUIRE(schedule.happened(start));
    CHECK_FALSE(schedule.is_over(start + 59s));
    REQUIRE(schedule.is_over(start + 60s));
    auto const news = schedule.happened(start + 60s);
    REQUIRE(news);
    CHECK(news->total == 1);
    CHECK_FALSE(schedule.happened(start + 60s + 500ms));
    CHECK(schedule.due() == start + 61s);
}

TEST_CASE("occurrences that were counted and never logged are part of the next line", "[log]")
{
    RepeatSchedule schedule;
    REQUIRE(schedule.happened(start));
    CHECK_FALSE(schedule.happened(start + 500ms));
    auto const later = schedule.happened(start + 5min);
    REQUIRE(later);
    CHECK(later->more == 2);
}

TEST_CASE("counted occurrences are logged early at most once between two times of the schedule", "[log]")
{
    RepeatSchedule schedule;
    REQUIRE(schedule.happened(start));
    CHECK_FALSE(schedule.take_early(start));
    CHECK_FALSE(schedule.happened(start));
    CHECK(schedule.take_early(start));
    CHECK_FALSE(schedule.happened(start + 10ms));
    CHECK_FALSE(schedule.take_early(start + 10ms));
    CHECK(schedule.due() == start + 1s);
    CHECK(schedule.take(start + 1s));
    CHECK_FALSE(schedule.happened(start + 2s));
    CHECK(schedule.take_early(start + 2s));
}

TEST_CASE("a cause that lasts until it is ended goes on, however rarely it occurs", "[log]")
{
    RepeatSchedule schedule(RepeatSchedule::Ends::when_told);
    CHECK(logged(schedule, 5min, 31min) == Times{0s, 5min, 15min, 25min});
}

TEST_CASE("the end of a cause that was logged and lasted for a second is worth a line", "[log]")
{
    RepeatSchedule schedule(RepeatSchedule::Ends::when_told);
    CHECK_FALSE(schedule.end(start));
    REQUIRE(schedule.happened(start));
    CHECK_FALSE(schedule.happened(start + 1ms));
    SECTION("it lasted")
    {
        auto const ended = schedule.end(start + 182s);
        REQUIRE(ended);
        CHECK(ended->total == 2);
        CHECK(ended->lasting == 182s);
        CHECK_FALSE(schedule.end(start + 182s));
        CHECK(schedule.due() == Instant::max());
    }
    SECTION("it was over in no time")
    {
        CHECK_FALSE(schedule.end(start + 999ms));
    }
    SECTION("it returns within a minute: its schedule goes on, and its time counts anew")
    {
        CHECK(schedule.end(start + 2s));
        auto const again = schedule.happened(start + 3s);
        REQUIRE(again);
        CHECK(again->lasting == 0s);
        CHECK_FALSE(schedule.happened(start + 4s));
        CHECK(schedule.end(start + 5s)->total == 2);
        CHECK_FALSE(schedule.happened(start + 6s));
        CHECK_FALSE(schedule.end(start + 9s));
    }
}

TEST_CASE("a cause whose first occurrence says little is logged if it occurs again after a second", "[log]")
{
    RepeatSchedule schedule(RepeatSchedule::Ends::when_told);
    auto const first = RepeatSchedule::First::after_a_second;
    CHECK_FALSE(schedule.happened(start, first));
    CHECK_FALSE(schedule.happened(start + 900ms, first));
    auto const line = schedule.happened(start + 1s, first);
    REQUIRE(line);
    CHECK(line->total == 3);
    CHECK(line->lasting == 1s);
}

TEST_CASE("each cause has a schedule of its own", "[log]")
{
    RepeatedCauses causes;
    CHECK(causes.happened("refused", start));
    CHECK(causes.happened("reset", start));
    CHECK_FALSE(causes.happened("refused", start + 1ms));
    CHECK_FALSE(causes.happened("reset", start + 1ms));
    CHECK(causes.happened("refused", start + 1s));
}

TEST_CASE("causes with a changing part make a bounded number of lines", "[log]")
{
    RepeatedCauses causes;
    int lines = 0;
    for (int i = 0; i < 10'000; ++i)
        lines += causes.happened("late by " + std::to_string(i) + " ms", start + std::chrono::milliseconds(i)) ? 1 : 0;
    CHECK(lines == 10);
    // a minute later the old ones have made room
    CHECK(causes.happened("refused", start + 2min));
    CHECK(causes.happened("reset", start + 2min));
}

TEST_CASE("the end of several causes is told together", "[log]")
{
    RepeatedCauses causes(RepeatSchedule::Ends::when_told);
    CHECK_FALSE(causes.lasts());
    CHECK(causes.happened("refused", start));
    CHECK(causes.happened("loading", start + 5s));
    CHECK_FALSE(causes.happened("loading", start + 5s));
    CHECK(causes.lasts());
    auto const ended = causes.end(start + 8s);
    REQUIRE(ended);
    CHECK(ended->total == 3);
    CHECK(ended->lasting == 8s);
    CHECK_FALSE(causes.lasts());
    CHECK_FALSE(causes.end(start + 8s));
}

TEST_CASE("elapsed times are written in two units at most", "[log]")
{
    CHECK(elapsed_text(0ms) == "0 ms");
    CHECK(elapsed_text(1us) == "1 ms");
    CHECK(elapsed_text(950ms) == "950 ms");
    CHECK(elapsed_text(1999ms) == "1 s");
    CHECK(elapsed_text(60s) == "1 min");
    CHECK(elapsed_text(182s) == "3 min 2 s");
    CHECK(elapsed_text(2h) == "2 h");
    CHECK(elapsed_text(2h + 5min + 7s) == "2 h 5 min");
    CHECK(how_often({.more = 1, .since_line = {}, .total = 1, .lasting = {}}).empty());
    CHECK(how_often({.more = 5, .since_line = 9s, .total = 312, .lasting = 10min}) == "; 312 times in 10 min");
}

} // namespace tenure::test
