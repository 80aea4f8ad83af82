// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Pace: how much may be under way to a server.
#include "store/redis/link/pace.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace tenure::test
{

using namespace std::chrono_literals;
using redis::Pace;

namespace
{

constexpr std::size_t most = 1024;
constexpr Clock::duration target = 500ms;
Instant const start = Instant{} + 1h;

/** A server that answers one request after another, asked for as much as the pace allows. Returns the limit in the end,
 *  and the longest answer of the second half. */
struct Served {
    std::size_t limit = 0;
    Clock::duration longest{};
};
Served serve(Clock::duration each, int rounds)
{
    Pace pace(most);
    Served served;
    auto now = start;
    for (int round = 0; round < rounds; ++round) {
        auto const count = pace.limit();
        auto const sent = now;
        for (std::size_t place = 1; place <= count; ++place) {
            now += each;
            pace.answered({now - sent, target, 1, place}, now);
        }
        if (round > rounds / 2)
            served.longest = std::max(served.longest, now - sent);
    }
    served.limit = pace.limit();
    return served;
}

} // namespace

TEST_CASE("a fast server gets as much at once as keeps it busy over any distance", "[redis][pace]")
{
    CHECK(serve(1us, 20).limit == most);
    CHECK(serve(100us, 40).limit == most);
}

TEST_CASE("a slow server gets no more than it answers in the target time", "[redis][pace]")
{
    for (auto const each : {2ms, 20ms, 100ms}) {
        auto const served = serve(each, 60);
        CHECK(served.longest <= target + each);
        CHECK(served.limit >= 1);
        // and not much less, because a script call for many keys costs less than many calls
        CHECK(served.limit * each >= target / 4);
    }
}

TEST_CASE("a server that takes longer than the target for one request gets one at a time", "[redis][pace]")
{
    CHECK(serve(2s, 10).limit == 1);
}

TEST_CASE("a limit that was not used does not grow", "[redis][pace]")
{
    Pace pace(most);
    for (int i = 0; i < 1000; ++i)
        pace.answered({1ms, target, 1, 1}, start + i * 1ms);
    CHECK(pace.limit() == Pace::first);
}

TEST_CASE("answers that were late together lower the limit once", "[redis][pace]")
{
    Pace pace(most);
    for (std::size_t place = 32; place > 0; --place)
        pace.answered({1s, target, 1, place}, start + 1s);
    CHECK(pace.limit() == 16);
    pace.answered({1s, target, 1, 16}, start + 2s);
    CHECK(pace.limit() == 8);
}

TEST_CASE("after a rest the server may have become slow, so a burst begins with little", "[redis][pace]")
{
    Pace pace(most);
    for (int i = 0; i < 2000; ++i)
        pace.answered({1ms, target, 1, most}, start);
    REQUIRE(pace.limit() == most);
    pace.begin_burst(start + 1s);
    CHECK(pace.limit() == most);
    pace.begin_burst(start + 2s);
    CHECK(pace.limit() == Pace::first);
}

} // namespace tenure::test
