// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/time_text.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using tenure::tool::describe;
using tenure::tool::parse_duration;

TEST_CASE("a duration on the command line is a whole number and a unit", "[tool]")
{
    CHECK(parse_duration("500ms") == 500ms);
    CHECK(parse_duration("5s") == 5s);
    CHECK(parse_duration("2m") == 2min);
    CHECK(parse_duration("1h") == 1h);
    CHECK(parse_duration("0") == 0ms);
    CHECK(parse_duration("0s") == 0ms);
}

TEST_CASE("a malformed duration on the command line is refused", "[tool]")
{
    for (auto const* text :
         {"", "5", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5s", "s", "5x", "5sec", "99999999999999999999s",
          "9223372036854775807h", "9000h"})
        CHECK_FALSE(parse_duration(text).has_value());
}

TEST_CASE("a duration is shown with two figures that matter", "[tool]")
{
    CHECK(describe(0ms) == "0 ms");
    CHECK(describe(999ms) == "999 ms");
    CHECK(describe(4299ms) == "4.2 s");
    CHECK(describe(185s) == "3 min 05 s");
    CHECK(describe(2h + 10min + 59s) == "2 h 10 min");
    CHECK(describe(76h) == "3 d 4 h");
}
