// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "engine/machines/acquire_machine.hpp"
#include "engine/machines/turn_machine.hpp"

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

/** A claim that the store writes at once. */
AcquireMachine::Step written(AcquireMachine& machine, AcquireMachine::Step const& step, Instant now)
{
    if (step.ask)
        machine.progressed(now);
    return step;
}

AcquireMachine::Step ask_written(AcquireMachine& machine, Instant now)
{
    return written(machine, machine.claim_at(at_once, now), now);
}

AcquireMachine::Step tick_written(AcquireMachine& machine, Instant now)
{
    return written(machine, machine.tick(now), now);
}

} // namespace

TEST_CASE("an acquisition asks, waits while all are held, and asks again when it is told")
{
    AcquireMachine machine(limits_of(30s));
    CHECK(machine.claim_at(at_once, start).ask);
    auto const wait = machine.busy(backend::Busy{}, 1ms, start + 1ms, 7);
    CHECK_FALSE(wait.ask);
    CHECK(wait.wake_at > start + 1ms);
    CHECK(machine.claim_at(at_once, start + 2ms).ask);
}

TEST_CASE("news that arrives while an answer is awaited leads to another question right after it")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    CHECK_FALSE(machine.claim_at(at_once, start + 1ms).ask);
    CHECK(machine.busy(backend::Busy{}, 1ms, start + 2ms, 7).ask);
    CHECK_FALSE(machine.busy(backend::Busy{}, 1ms, start + 3ms, 7).ask);
}

TEST_CASE("a preferred key that is held leads to one question about the others, within the wait")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    CHECK(machine.preferred_held(true, start + 1ms, 7).ask);
    // the answer to a repetition of the first question
    CHECK_FALSE(machine.preferred_held(false, start + 2ms, 7).ask);
    AcquireMachine late(limits_of(30s));
    (void)late.claim_at(at_once, start);
    auto const step = late.preferred_held(true, start + 30s, 7);
    CHECK_FALSE(step.ask);
    CHECK(step.finish == make_error_code(errc::timed_out));
}

TEST_CASE("a late answer about the preferred key that is the last one awaited leads to a pause, and no longer one")
{
    AcquireMachine machine(limits_of(30s));
    (void)ask_written(machine, start);
    (void)machine.tick(start + 500ms);
    (void)machine.preferred_held(true, start + 501ms, 7);
    CHECK(machine.failed(make_error_code(errc::store_refused), false, start + 502ms, 7).wake_at > start + 1s);
    CHECK(machine.preferred_held(false, start + 503ms, 7).wake_at < start + 600ms);
}

TEST_CASE("the earliest expiry is waited for when it comes before the backoff, with little jitter")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    auto const step = machine.busy(backend::Busy{5ms, false}, 1ms, start, 1023);
    CHECK(step.wake_at > start + 5ms);
    CHECK(step.wake_at <= start + 15ms);
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
            REQUIRE(machine.claim_at(at_once, now).ask);
            auto const step = machine.busy(backend::Busy{}, 1ms, now, 1023);
            longest = std::max(longest, step.wake_at - now);
            CHECK(step.wake_at - now >= 20ms);
            now = step.wake_at;
        }
        CHECK(longest == (hints ? Clock::duration(1s) : Clock::duration(250ms)));
    }
}

TEST_CASE("where keys free without any news, it polls every 50 to 90 ms, and leaves the store twenty times as long")
{
    auto limits = limits_of(1h);
    limits.silent_releases = true;
    AcquireMachine machine(limits);
    auto const pause_after = [&](Clock::duration took, std::uint64_t random) {
        REQUIRE(machine.claim_at(at_once, start).ask);
        return machine.busy(backend::Busy{}, took, start, random).wake_at - start;
    };
    for (int round = 0; round < 10; ++round) {
        CHECK(pause_after(300us, 0) == 50ms);
        CHECK(pause_after(300us, 1023) > 89ms);
        CHECK(pause_after(300us, 1023) <= 90ms);
    }
    // one slow claim may be this process's own
    CHECK(pause_after(50ms, 1023) <= 90ms);
    CHECK(pause_after(300us, 1023) <= 90ms);
    for (int round = 0; round < 5; ++round)
        (void)pause_after(8ms, 1023);
    CHECK(pause_after(8ms, 1023) == 160ms);
    for (int round = 0; round < 5; ++round)
        (void)pause_after(50ms, 0);
    CHECK(pause_after(50ms, 0) == 1s);
    REQUIRE(machine.claim_at(at_once, start).ask);
    CHECK(machine.busy(backend::Busy{30ms, false}, 300us, start, 1023).wake_at < start + 45ms);
}

TEST_CASE("no pause is longer than the options allow")
{
    for (bool const silent : {true, false}) {
        auto limits = limits_of(1h);
        limits.silent_releases = silent;
        limits.longest_pause = 30ms;
        AcquireMachine machine(limits);
        auto now = start;
        for (int round = 0; round < 10; ++round) {
            REQUIRE(machine.claim_at(at_once, now).ask);
            auto const step = machine.busy(backend::Busy{}, 20ms, now, 1023);
            CHECK(step.wake_at - now <= 30ms);
            REQUIRE(machine.claim_at(at_once, step.wake_at).ask);
            now = step.wake_at;
            CHECK(machine.failed(make_error_code(errc::store_refused), false, now, 1023).wake_at - now <= 30ms);
        }
    }
}

TEST_CASE("when others are named, it asks when their time is over, which further news postpone until its poll")
{
    auto limits = limits_of(30s);
    limits.silent_releases = true;
    AcquireMachine machine(limits);
    (void)machine.claim_at(at_once, start);
    REQUIRE(machine.busy(backend::Busy{}, 1ms, start, 0).wake_at == start + 50ms);
    CHECK(machine.claim_at(start + 20ms, start).wake_at == start + 20ms);
    CHECK_FALSE(machine.tick(start + 19ms).ask);
    CHECK(machine.claim_at(start + 35ms, start + 19ms).wake_at == start + 35ms);
    CHECK_FALSE(machine.tick(start + 20ms).ask);
    CHECK(machine.claim_at(start + 60ms, start + 34ms).wake_at == start + 50ms);
    CHECK_FALSE(machine.tick(start + 35ms).ask);
    CHECK(machine.tick(start + 50ms).ask);
}

TEST_CASE("others that are named while a claim is under way have their time after a busy answer")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    CHECK_FALSE(machine.claim_at(start + 15ms, start + 5ms).ask);
    CHECK(machine.busy(backend::Busy{}, 6ms, start + 6ms, 1023).wake_at == start + 15ms);
    CHECK(machine.tick(start + 15ms).ask);
    // the named ones were before this claim
    CHECK(machine.busy(backend::Busy{}, 1ms, start + 16ms, 0).wake_at >= start + 36ms);
}

TEST_CASE("a hint overrides that others go first")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(start + 15ms, start);
    CHECK(machine.claim_at(at_once, start + 1ms).ask);
    (void)machine.busy(backend::Busy{}, 1ms, start + 2ms, 7);
    (void)machine.claim_at(start + 15ms, start + 3ms);
    CHECK(machine.claim_at(at_once, start + 4ms).ask);
}

TEST_CASE("a first claim that is held back waits for named ones, but not forever, and not for all of its time")
{
    SECTION("until their time is over")
    {
        AcquireMachine machine(limits_of(30s));
        CHECK(machine.claim_at(start + 10ms, start).wake_at == start + 10ms);
        // further releases of its own store are a reason to wait longer, once more
        CHECK(machine.claim_at(start + 15ms, start + 5ms).wake_at == start + 15ms);
        CHECK(machine.claim_at(start + 40ms, start + 10ms).wake_at == start + 20ms);
        CHECK_FALSE(machine.tick(start + 19ms).ask);
        CHECK(machine.tick(start + 20ms).ask);
    }
    SECTION("a short wait")
    {
        AcquireMachine machine(limits_of(4ms));
        CHECK(machine.claim_at(start + 10ms, start).wake_at == start + 2ms);
        CHECK(machine.tick(start + 2ms).ask);
    }
    SECTION("a wait that was over before it claimed ended because of others")
    {
        AcquireMachine machine(limits_of(4ms));
        (void)machine.claim_at(start + 10ms, start);
        CHECK(machine.tick(start + 4ms).finish == make_error_code(errc::timed_out));
    }
    SECTION("its turn came after others'")
    {
        AcquireMachine machine(limits_of(30s));
        (void)machine.claim_at(Instant::max(), start);
        CHECK(machine.claim_at(start + 10ms, start).wake_at == start + 10ms);
        CHECK(machine.tick(start + 10ms).ask);
    }
}

TEST_CASE("the wait ends at its deadline with the reason of the last answer")
{
    SECTION("held by others")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.claim_at(at_once, start);
        (void)machine.busy(backend::Busy{}, 1ms, start, 7);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::timed_out));
    }
    SECTION("no answer")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.claim_at(at_once, start);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::store_unavailable));
    }
    SECTION("refused")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.claim_at(at_once, start);
        (void)machine.failed(make_error_code(errc::store_refused), false, start, 7);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::store_refused));
    }
    SECTION("queued behind others")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.claim_at(Instant::max(), start);
        CHECK(machine.tick(start + 1s).finish == make_error_code(errc::timed_out));
    }
    SECTION("every grant came too late")
    {
        AcquireMachine machine(limits_of(1s));
        (void)machine.claim_at(at_once, start);
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
        (void)machine.claim_at(at_once, start);
        CHECK(machine.busy(backend::Busy{}, 1ms, start, 7).finish == make_error_code(errc::timed_out));
    }
    SECTION("failed")
    {
        AcquireMachine machine(limits);
        (void)machine.claim_at(at_once, start);
        CHECK(machine.failed(make_error_code(errc::store_refused), false, start, 7).finish);
    }
}

TEST_CASE("an error that only a person can fix ends the wait at once")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    CHECK(
        machine.failed(make_error_code(errc::permission_denied), true, start, 7).finish ==
        make_error_code(errc::permission_denied));
    AcquireMachine other(limits_of(30s));
    (void)other.claim_at(at_once, start);
    CHECK(other.busy(backend::Busy{std::nullopt, true}, 1ms, start, 7).finish == make_error_code(errc::key_conflict));
}

TEST_CASE("a claim that is not written is never repeated, and its wait ends as it would")
{
    AcquireMachine machine(limits_of(30s));
    auto step = machine.claim_at(at_once, start);
    while (step.wake_at < start + 30s) {
        step = machine.tick(step.wake_at);
        REQUIRE_FALSE(step.ask);
        REQUIRE_FALSE(step.finish);
    }
    CHECK(machine.tick(start + 30s).finish == make_error_code(errc::store_unavailable));
}

TEST_CASE("patience with a claim counts from its last progress")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    // the claim waited for its turn
    machine.progressed(start + 3s);
    CHECK(machine.tick(start + 3s).wake_at == start + 3500ms);
    // the answer to its first step
    machine.progressed(start + 3400ms);
    CHECK_FALSE(machine.tick(start + 3899ms).ask);
    CHECK(machine.tick(start + 3900ms).ask);
    // the repetition waits for its turn
    CHECK_FALSE(machine.tick(start + 10s).ask);
}

TEST_CASE("progress while no claim is pending changes nothing")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    auto const pause = machine.busy(backend::Busy{}, 1ms, start, 7);
    machine.progressed(start);
    CHECK(machine.tick(start + 1ms).wake_at == pause.wake_at);
}

TEST_CASE("an unanswered claim is asked again, each time with twice the patience")
{
    AcquireMachine machine(limits_of(30s));
    CHECK(ask_written(machine, start).wake_at == start + 500ms);
    CHECK_FALSE(machine.tick(start + 499ms).ask);
    auto const again = tick_written(machine, start + 500ms);
    CHECK(again.ask);
    CHECK(again.wake_at == start + 1500ms);
    // one of them fails: the other one is still awaited
    CHECK_FALSE(machine.failed(make_error_code(errc::store_unavailable), false, start + 600ms, 7).ask);
    CHECK(machine.asking());
}

TEST_CASE("a claim that stays without an answer lengthens the patience with others once")
{
    AcquireMachine machine(limits_of(30s));
    (void)ask_written(machine, start);
    auto now = start + 500ms;
    auto step = tick_written(machine, now);
    for (int polls = 0; polls < 10; ++polls) {
        REQUIRE(step.ask);
        CHECK(step.wake_at == now + 1s);
        step = machine.busy(backend::Busy{}, 1ms, now + 1ms, 7);
        REQUIRE_FALSE(step.ask);
        now = step.wake_at;
        step = tick_written(machine, now);
    }
}

TEST_CASE("the patience with unanswered claims grows to half a minute")
{
    AcquireMachine machine(limits_of(24h));
    auto now = start;
    auto step = ask_written(machine, now);
    for (int asked = 1; asked < 100; ++asked) {
        CHECK(step.wake_at - now <= 30s);
        now = step.wake_at;
        step = tick_written(machine, now);
        REQUIRE(step.ask);
    }
    CHECK(step.wake_at == now + 30s);
}

TEST_CASE("when an owner is spent, one answer is all there is to wait for")
{
    AcquireMachine machine(limits_of(30s));
    (void)ask_written(machine, start);
    REQUIRE(machine.tick(start + 500ms).ask);
    machine.owner_spent();
    auto const step = machine.failed(make_error_code(errc::store_unavailable), false, start + 510ms, 7);
    CHECK_FALSE(machine.asking());
    // the backoff, and not the patience with the claim before
    CHECK(step.wake_at <= start + 550ms);
    auto const next = machine.tick(step.wake_at);
    CHECK(next.ask);
    CHECK(next.wake_at == step.wake_at + 500ms);
}

TEST_CASE("after a grant that came too late, claims of its owner are not waited for")
{
    AcquireMachine machine(limits_of(30s));
    (void)ask_written(machine, start);
    CHECK(tick_written(machine, start + 500ms).ask);
    CHECK(machine.tick(start + 1500ms).ask);
    // two more are under way; the pause after a grant is that of any other answer
    auto const pause = machine.given_back(make_error_code(errc::ttl_too_short), false, start + 1600ms, 1023);
    CHECK(pause.wake_at <= start + 2600ms);
    CHECK(machine.tick(pause.wake_at).ask);
    auto const refused = machine.failed(make_error_code(errc::store_refused), false, pause.wake_at + 1ms, 1023);
    CHECK(refused.wake_at <= pause.wake_at + 1001ms);
    auto const again = machine.tick(refused.wake_at);
    CHECK(again.ask);
    CHECK(again.wake_at == refused.wake_at + 500ms);
}

TEST_CASE("nothing is asked after the end")
{
    AcquireMachine machine(limits_of(30s));
    (void)machine.claim_at(at_once, start);
    machine.end();
    CHECK_FALSE(machine.claim_at(at_once, start).ask);
    CHECK_FALSE(machine.tick(start + 10s).ask);
    CHECK_FALSE(machine.busy(backend::Busy{}, 1ms, start, 7).ask);
    CHECK_FALSE(machine.claim_at(Instant::max(), start).ask);
}

} // namespace tenure::engine
