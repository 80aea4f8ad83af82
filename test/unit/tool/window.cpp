// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/window.hpp"

#include "command_line/program.hpp"
#include "output/time_text.hpp"
#include "run/inheritance.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::tool;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using tenure::Instant;
using tenure::KeyState;
using Words = std::vector<std::string>;

namespace
{

std::chrono::sys_seconds second(std::int64_t number)
{
    return std::chrono::sys_seconds(std::chrono::seconds(number));
}

KeyState state_of(KeyState::Kind kind, std::string owner)
{
    KeyState state;
    state.kind = kind;
    state.owner = std::move(owner);
    state.remaining = 185s;
    return state;
}

std::string owner_of_worker(std::string const& worker)
{
    return worker + "/0123456789abcdef0123456789abcdef";
}

/** The complaint of `tenure run` about its options; empty if it would connect. */
std::string complaint_about(Words words)
{
    auto const inheritance = Inheritance::record();
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--store", "nowhere://", "--", "true"});
    try {
        static_cast<void>(Program().run(inheritance, words));
    } catch (std::invalid_argument const& error) {
        std::string const text = error.what();
        return text.find("store URL") == std::string::npos ? text : std::string();
    }
    return {};
}

} // namespace

TEST_CASE("an instant on the command line is in UTC, or in seconds since 1970", "[tool]")
{
    CHECK(parse_utc_time("1970-01-01T00:00Z") == second(0));
    CHECK(parse_utc_time("2026-01-31T02:00Z") == second(1'769'824'800));
    CHECK(parse_utc_time("2026-01-31T02:00:30Z") == second(1'769'824'830));
    CHECK(parse_utc_time("2024-02-29T23:59:59Z") == second(1'709'251'199));
    CHECK(parse_utc_time("9999-12-31T23:59:59Z") == second(253'402'300'799));
    CHECK(parse_utc_time("@0") == second(0));
    CHECK(parse_utc_time("@1769824800") == second(1'769'824'800));
    CHECK(utc_time(second(1'769'824'830)) == "2026-01-31T02:00:30Z");
}

TEST_CASE("a malformed instant in UTC is refused", "[tool]")
{
    for (auto const* text :
         {"",
          "@",
          "@-1",
          "@+1",
          "@1.5",
          "@ 1",
          "@253402300800",
          "@99999999999999999999",
          "1769824800",
          "2026-01-31",
          "2026-01-31T02:00",
          "2026-01-31T02:00z",
          "2026-01-31 02:00Z",
          "2026-01-31T02:00+01:00",
          "2026-01-31T2:00Z",
          "2026-01-31T24:00Z",
          "2026-01-31T02:60Z",
          "2026-01-31T02:00:60Z",
          "2026-01-31T02:00:00.5Z",
          "2026-02-29T02:00Z",
          "2026-13-01T02:00Z",
          "2026-00-01T02:00Z",
          "2026-01-00T02:00Z",
          "1969-12-31T23:59Z",
          "-026-01-31T02:00Z",
          "2026-01-31T-2:00Z"}) {
        INFO(text);
        CHECK_FALSE(parse_utc_time(text).has_value());
    }
}

TEST_CASE("all times of a window name the same occurrence", "[tool]")
{
    for (auto const at : {1'769'824'800, 1'769'824'801, 1'769'828'399})
        CHECK(Window(1h, second(at)).key_for("nightly") == "nightly/1769824800000");
    CHECK(Window(1h, second(1'769'828'400)).key_for("nightly") == "nightly/1769828400000");
    CHECK(Window(1h, {}).key_for("nightly") == "nightly");
}

TEST_CASE("a window lasts from the grant, and the mark of an occurrence from the end of its run", "[tool]")
{
    auto const granted = Instant(100s);
    CHECK(Window(1h, {}).rest(granted, granted + 10min + 300us) == 50min);
    CHECK(Window(1h, {}).rest(granted, granted + 2h) < 0ms);
    CHECK(Window(1h, second(0)).rest(granted, granted + 2h) == 1h);
}

TEST_CASE("a command that does not run here says what its lock shows", "[tool]")
{
    auto const window = Window(1h, {});
    auto const kept = state_of(KeyState::Kind::kept, owner_of_worker("w1"));
    CHECK(
        window.describe_refusal("nightly", kept) ==
        "nightly has been run in this window by w1; the lock is kept for another 3 min 05 s");
    CHECK(
        Window(1h, second(1'769'824'830)).describe_refusal("nightly", kept) ==
        "nightly of 2026-01-31T02:00:00Z has been run by w1; the lock is kept for another 3 min 05 s");
    auto held = state_of(KeyState::Kind::held, owner_of_worker("w1"));
    held.held_for = 4200ms;
    CHECK(window.describe_refusal("nightly", held) == "nightly is held by w1 for 4.2 s, which runs it");
    CHECK(
        window.describe_refusal("nightly", state_of(KeyState::Kind::held, "evicted/admin")) ==
        "nightly is evicted by admin, free in 3 min 05 s");
    CHECK(window.describe_refusal("nightly", {}) == "nightly is free by now");
}

TEST_CASE("options of a window that do not go together are refused in words", "[tool]")
{
    CHECK(complaint_about({"--lock", "a", "--window", "1h"}).empty());
    CHECK(complaint_about({"--lock", "a", "--window", "1h", "--at", "@0", "--wait", "1m"}).empty());
    CHECK(complaint_about({"--lock", "a", "--lock", "b"}).empty());
    CHECK_THAT(complaint_about({"--size", "2", "--window", "1h"}), StartsWith("--window is for one lock"));
    CHECK_THAT(
        complaint_about({"--lock", "a", "--lock", "b", "--window", "1h"}), StartsWith("--window is for one lock"));
    CHECK_THAT(complaint_about({"--lock", "a", "--at", "@0"}), StartsWith("--at names an occurrence"));
    CHECK_THAT(complaint_about({"--lock", "a", "--window", "0s"}), StartsWith("--window: a window has a length"));
    CHECK_THAT(complaint_about({"--lock", "a", "--window", "daily"}), ContainsSubstring("'daily' is no duration"));
    CHECK_THAT(
        complaint_about({"--lock", "a", "--window", "1h", "--at", "2am"}), StartsWith("--at: '2am' is no time: "));
    CHECK_THAT(complaint_about({"--lock", "a", "--lock", "b", "--size", "2"}), ContainsSubstring("--lock"));
    CHECK_THAT(complaint_about({"--lock", "a", "--lock", ""}), StartsWith("--lock is \"\": it must not be empty"));
}
