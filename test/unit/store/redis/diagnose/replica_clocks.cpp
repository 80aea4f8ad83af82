// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/diagnose/clocks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::redis;
using Catch::Matchers::ContainsSubstring;
using Severity = Finding::Severity;
using resp::Value;

namespace
{

Value time_reply(std::string seconds, std::string micros)
{
    return Value::list(resp::Type::array, {Value::text(std::move(seconds)), Value::text(std::move(micros))});
}

/// a replica ahead of its master by so much, each known to half of `unknown`
Finding ahead_by(std::chrono::nanoseconds ahead, std::chrono::nanoseconds unknown, std::chrono::milliseconds ttl)
{
    ClockReading const master{1000s, unknown / 2};
    return judge({{"10.0.0.7", 6380}, ClockReading{1000s + ahead, unknown / 2}, {}}, master, ttl);
}

} // namespace

TEST_CASE("a server's time was read in the middle of the round trip, give or take half of it", "[redis][findings]")
{
    Instant const asked{100s};
    auto const reading = read_time(time_reply("1700000000", "250000"), asked, asked + 20ms);
    REQUIRE(reading);
    CHECK(reading->offset == 1700000000s + 250ms - (100s + 10ms));
    CHECK(reading->uncertainty == 10ms);
    auto const quicker = read_time(time_reply("1700000000", "250000"), asked, asked + 2ms);
    CHECK(better(reading, quicker)->uncertainty == 1ms);
    CHECK(better(quicker, reading)->uncertainty == 1ms);
    CHECK(better(std::nullopt, reading)->uncertainty == 10ms);
    CHECK_FALSE(better(std::nullopt, std::nullopt));
}

TEST_CASE("a malformed reply to TIME is no reading", "[redis][findings]")
{
    auto const reply = GENERATE(
        Value(), Value::integer(5), time_reply("", "5"), time_reply("5", "x"), time_reply("-5", "0"),
        time_reply("5", "1000000"), time_reply("9223372036854775807", "0"),
        Value::list(resp::Type::array, {Value::text("5")}));
    CHECK_FALSE(read_time(reply, Instant{1s}, Instant{2s}));
}

TEST_CASE("a replica's clock may differ by what a holder's validity is less than the ttl", "[redis][findings]")
{
    // for 5 s that is 60 ms
    CHECK(ahead_by(0ms, 1ms, 5s).severity == Severity::ok);
    CHECK(ahead_by(58ms, 1ms, 5s).severity == Severity::ok);
    CHECK(ahead_by(-58ms, 1ms, 5s).severity == Severity::ok);

    auto const early = ahead_by(70ms, 2ms, 5s);
    CHECK(early.severity == Severity::warning);
    CHECK(early.observed == "10.0.0.7:6380: 70.0 ms ahead of the master's, give or take 2.0 ms; ttl 5000 ms");
    CHECK_THAT(early.advice, ContainsSubstring("too soon") && ContainsSubstring("60.0 ms"));
    CHECK(ahead_by(70ms, 2ms, 60s).severity == Severity::ok);

    auto const late = ahead_by(-70ms, 2ms, 5s);
    CHECK(late.severity == Severity::warning);
    CHECK_THAT(late.observed, ContainsSubstring("70.0 ms behind the master's"));
    CHECK_THAT(late.advice, ContainsSubstring("later"));

    CHECK(ahead_by(5100ms, 2ms, 5s).severity == Severity::error);
    CHECK(ahead_by(-100s, 2ms, 5s).severity == Severity::warning);
}

TEST_CASE("a difference hidden by round trips is reported as unverified", "[redis][findings]")
{
    // it may be well, and it may not
    for (auto const ahead : {50ms, 65ms, -50ms, -65ms}) {
        CAPTURE(ahead.count());
        CHECK(ahead_by(ahead, 40ms, 5s).severity == Severity::unverified);
        CHECK_THAT(ahead_by(ahead, 40ms, 5s).advice, ContainsSubstring("nearer"));
    }
    CHECK(ahead_by(101ms, 40ms, 5s).severity == Severity::warning);
}

TEST_CASE("a replica that cannot be asked, or a master, is said to be unverified", "[redis][findings]")
{
    auto const away = judge({{"10.0.0.7", 6380}, std::nullopt, "Connection refused"}, ClockReading{1s, 1ms}, 5s);
    CHECK(away.severity == Severity::unverified);
    CHECK(away.observed == "10.0.0.7:6380: Connection refused");
    CHECK_FALSE(away.advice.empty());
    auto const alone = judge({{"10.0.0.7", 6380}, ClockReading{1s, 1ms}, {}}, std::nullopt, 5s);
    CHECK(alone.severity == Severity::unverified);
    CHECK_THAT(alone.observed, ContainsSubstring("the master's clock could not be read"));
}

TEST_CASE("the replicas are those that INFO names with an address", "[redis][findings]")
{
    auto const replicas = replicas_in({
        {"connected_slaves", "4"},
        {"slave0", "ip=10.0.0.7,port=6380,state=online,offset=14,lag=0"},
        {"slave1", "ip=::1,port=6381,state=wait_bgsave,offset=0,lag=0"},
        {"slave2", "ip=,port=6382,state=online"},
        {"slave3", "ip=10.0.0.8,port=0,state=online"},
        {"slave4", "ip=10.0.0.8,port=70000,state=online"},
        {"slave_read_only", "1"},
        {"slaves", "x"},
    });
    REQUIRE(replicas.size() == 2);
    CHECK(to_string(replicas[0]) == "10.0.0.7:6380");
    CHECK(to_string(replicas[1]) == "[::1]:6381");
}
