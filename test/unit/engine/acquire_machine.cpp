// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "engine/acquire_machine.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

namespace tenure::engine
{

using namespace std::chrono_literals;

namespace
{

Instant const start = Instant{} + 1000s;

AcquireMachine::Limits limits_of(Clock::duration wait)
{
    AcquireMachine::Limits limits;
    limits.deadline = start + wait;
    limits.patience = 500ms;
    return limits;
}

} // namespace

TEST_CASE("an acquisition asks, waits while all are held, and asks again when it is told")
{
    AcquireMachine machine(limits_of(30s));
    CHECK(machine.ask_now(start).ask);
    auto const wait = machine.busy(Busy{}, start + 1ms, 7);
    CHECK_FALSE(wait.ask);
    CHECK(wait.look_at > start + 1ms);
    CHECK(machine.ask_now(start + 2ms).ask);
}

TEST_CASE("news that arrives while an answer is awaited leads to another question right after it")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.ask_now(start);
    CHECK_FALSE(machine.ask_now(start + 1ms).ask);
    CHECK(machine.busy(Busy{}, start + 2ms, 7).ask);
    CHECK_FALSE(machine.busy(Busy{}, start + 3ms, 7).ask);
}

TEST_CASE("the earliest expiry is waited for when it comes before the backoff, with little jitter")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.ask_now(start);
    auto const step = machine.busy(Busy{5ms, false}, start, 1023);
    CHECK(step.look_at > start + 5ms);
    CHECK(step.look_at <= start + 15ms);
}

TEST_CASE("pauses grow with jitter up to a second, without hints up to a quarter")
{
    for (bool const hints : {true, false}) {
        auto limits = limits_of(1h);
        limits.hints = hints;
        AcquireMachine machine(limits);
        auto now = start;
        auto longest = Clock::duration::zero();
        for (int round = 0; round < 30; ++round) {
            REQUIRE(machine.ask_now(now).ask);
            auto const step = machine.busy(Busy{}, now, 1023);
            longest = std::max(longest, step.look_at - now);
            CHECK(step.look_at - now >= 20ms);
            now = step.look_at;
        }
        CHECK(longest == (hints ? Clock::duration(1s) : Clock::duration(250ms)));
    }
}

TEST_CASE("the wait ends at its deadline with the reason of the last answer")
{
    SECTION("held by others")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.ask_now(start);
        (void)machine.busy(Busy{}, start, 7);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::timed_out));
    }
    SECTION("no answer")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.ask_now(start);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::store_unavailable));
    }
    SECTION("refused")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.ask_now(start);
        (void)machine.failed(make_error_code(errc::store_refused), false, start, 7);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::store_refused));
    }
    SECTION("queued behind others")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.queue_up(start);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::timed_out));
    }
    SECTION("every grant came too late")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.ask_now(start);
        (void)machine.given_back(make_error_code(errc::ttl_too_short), false, start + 500ms, 7);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::ttl_too_short));
    }
}

TEST_CASE("a try is over with its first answer")
{
    auto limits = limits_of(2s);
    limits.only_try = true;
    SECTION("busy")
    {
        AcquireMachine machine(limits);
        (void)machine.ask_now(start);
        CHECK(machine.busy(Busy{}, start, 7).finish == make_error_code(errc::timed_out));
    }
    SECTION("failed")
    {
        AcquireMachine machine(limits);
        (void)machine.ask_now(start);
        CHECK(machine.failed(make_error_code(errc::store_refused), false, start, 7).finish);
    }
}

TEST_CASE("what only a person can mend ends the wait at once")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.ask_now(start);
    CHECK(
        machine.failed(make_error_code(errc::permission_denied), true, start, 7).finish ==
        make_error_code(errc::permission_denied));
    AcquireMachine other(limits_of(30s));
    (void)other.ask_now(start);
    CHECK(other.busy(Busy{std::nullopt, true}, start, 7).finish == make_error_code(errc::key_conflict));
}

TEST_CASE("an unanswered claim is asked again, each time with twice the patience")
{
    AcquireMachine machine(limits_of(30s));
    CHECK(machine.ask_now(start).look_at == start + 500ms);
    CHECK_FALSE(machine.tick(start + 499ms).ask);
    auto const again = machine.tick(start + 500ms);
    CHECK(again.ask);
    CHECK(again.look_at == start + 1500ms);
    // one of them fails: the other one is still awaited
    CHECK_FALSE(machine.failed(make_error_code(errc::store_unavailable), false, start + 600ms, 7).ask);
    CHECK(machine.asking());
}

TEST_CASE("the patience with unanswered claims grows to half a minute")
{
    AcquireMachine machine(limits_of(24h));
    auto now = start;
    auto step = machine.ask_now(now);
    for (int asked = 1; asked < 100; ++asked) {
        CHECK(step.look_at - now <= 30s);
        now = step.look_at;
        step = machine.tick(now);
        REQUIRE(step.ask);
    }
    CHECK(step.look_at == now + 30s);
}

TEST_CASE("when an owner is spent, one answer is all there is to wait for")
{
    AcquireMachine machine(limits_of(30s));
    static_cast<void>(machine.ask_now(start));
    REQUIRE(machine.tick(start + 500ms).ask);
    machine.owner_spent();
    auto const step = machine.failed(make_error_code(errc::store_unavailable), false, start + 510ms, 7);
    CHECK_FALSE(machine.asking());
    // the backoff, and not the patience with the claim before
    CHECK(step.look_at <= start + 550ms);
    auto const next = machine.tick(step.look_at);
    CHECK(next.ask);
    CHECK(next.look_at == step.look_at + 500ms);
}

TEST_CASE("after a grant that came too late, claims of its owner are not waited for")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.ask_now(start);
    CHECK(machine.tick(start + 500ms).ask);
    CHECK(machine.tick(start + 1500ms).ask);
    // two more are under way; the pause after a grant is that of any other answer
    auto const pause = machine.given_back(make_error_code(errc::ttl_too_short), false, start + 1600ms, 1023);
    CHECK(pause.look_at <= start + 2600ms);
    CHECK(machine.tick(pause.look_at).ask);
    auto const refused = machine.failed(make_error_code(errc::store_refused), false, pause.look_at + 1ms, 1023);
    CHECK(refused.look_at <= pause.look_at + 1001ms);
    auto const again = machine.tick(refused.look_at);
    CHECK(again.ask);
    CHECK(again.look_at == refused.look_at + 500ms);
}

TEST_CASE("nothing is asked after the end")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.ask_now(start);
    machine.end();
    CHECK_FALSE(machine.ask_now(start).ask);
    CHECK_FALSE(machine.tick(start + 10s).ask);
    CHECK_FALSE(machine.busy(Busy{}, start, 7).ask);
    CHECK_FALSE(machine.queue_up(start).ask);
}

} // namespace tenure::engine
