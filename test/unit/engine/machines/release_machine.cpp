// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The rules of ReleaseMachine, by the numbers of its header.
#include "engine/machines/release_machine.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>

namespace tenure::engine
{

using namespace std::chrono_literals;

namespace
{

Instant const sending = Instant{} + 1000s;

/** A request that was sent at `sending`, for a key that expires in 30 s. */
struct SentRelease : ReleaseMachine {
    explicit SentRelease(bool keeps = false)
        : begun(begin(30s, keeps, sending))
    {
    }

    Step begun;
};

} // namespace

TEST_CASE("rule 1 of a release: it is sent at once, but never after its keys have expired")
{
    CHECK(SentRelease().begun.send);
    SECTION("the keys have expired before")
    {
        ReleaseMachine late;
        auto const step = late.begin(0s, false, sending);
        CHECK(step.give_up);
        CHECK_FALSE(step.send);
        CHECK(late.ended());
    }
    SECTION("the keys expire while it waits")
    {
        SentRelease sent;
        CHECK(sent.give_up_at() == sending + 30s);
        (void)sent.tick(sending + 1s);
        CHECK(sent.failed(false, sending + 29999ms).wake_at == sending + 30s);
        auto const step = sent.tick(sending + 30s);
        CHECK(step.give_up);
        CHECK_FALSE(step.send);
        CHECK(sent.ended());
    }
}

TEST_CASE("rule 2 of a release: its caller waits for at most a second, while the request goes on")
{
    SentRelease sent;
    CHECK(sent.begun.wake_at == sending + 1s);
    CHECK_FALSE(sent.tick(sending + 999ms).overdue);
    auto const step = sent.tick(sending + 1s);
    CHECK(step.overdue);
    CHECK_FALSE(step.give_up);
    CHECK(step.wake_at == sending + 30s);
    CHECK_FALSE(sent.tick(sending + 2s).overdue);
    CHECK_FALSE(sent.ended());
}

TEST_CASE("rule 3 of a release: a failed request is repeated after a pause that doubles up to 640 ms")
{
    SentRelease sent;
    auto now = sending;
    for (auto const pause : std::array{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 640ms}) {
        (void)sent.failed(false, now);
        CHECK_FALSE(sent.tick(now + pause - 1ms).send);
        now += pause;
        CHECK(sent.tick(now).send);
    }
}

TEST_CASE("rule 4 of a release: an unanswered request is repeated only on a new connection, once it is a second old")
{
    SentRelease sent;
    CHECK_FALSE(sent.tick(sending + 29s).send);
    CHECK(sent.reachable(sending + 29s).wake_at == sending + 29s);
    CHECK(sent.tick(sending + 29s).send);
    SECTION("the last request is younger")
    {
        CHECK(sent.reachable(sending + 29200ms).wake_at == sending + 30s);
        CHECK_FALSE(sent.tick(sending + 29200ms).send);
    }
}

TEST_CASE("rule 5 of a release: a failed request is repeated as soon as a new connection works")
{
    SentRelease sent;
    CHECK(sent.failed(false, sending).wake_at == sending + 10ms);
    CHECK(sent.reachable(sending + 1ms).wake_at == sending + 1ms);
    CHECK(sent.tick(sending + 1ms).send);
}

TEST_CASE("rule 6 of a release: without users of the store it ends soon")
{
    SentRelease sent;
    SECTION("a young request has a second from its beginning")
    {
        (void)sent.hurry(sending + 100ms);
        CHECK(sent.give_up_at() == sending + 1s);
        CHECK(sent.tick(sending + 1s).give_up);
    }
    SECTION("an old one has 250 ms")
    {
        CHECK(sent.tick(sending + 5s).overdue);
        CHECK(sent.hurry(sending + 5s).value().wake_at == sending + 5250ms);
        CHECK(sent.tick(sending + 5250ms).give_up);
    }
    SECTION("no key is tried after its expiry")
    {
        CHECK_FALSE(sent.hurry(sending + 29900ms));
        CHECK(sent.give_up_at() == sending + 30s);
    }
    SECTION("a failed request keeps its pause")
    {
        (void)sent.failed(false, sending);
        CHECK(sent.hurry(sending).value().wake_at == sending + 10ms);
    }
}

TEST_CASE("rule 7 of a release: \"not the owner\" is a loss only if no other request can have freed the key")
{
    SentRelease sent;
    SECTION("only one request was sent")
    {
        CHECK(sent.disowned() == ReleaseOutcome::was_lost);
        CHECK(sent.ended());
    }
    SECTION("an earlier request failed without effect")
    {
        (void)sent.failed(false, sending);
        CHECK(sent.tick(sending + 10ms).send);
        CHECK(sent.disowned() == ReleaseOutcome::was_lost);
    }
    SECTION("an earlier request failed and may have taken effect")
    {
        (void)sent.failed(true, sending);
        CHECK(sent.tick(sending + 10ms).send);
        CHECK(sent.disowned() == ReleaseOutcome::released);
    }
    SECTION("another request is unanswered")
    {
        (void)sent.reachable(sending + 2s);
        CHECK(sent.tick(sending + 2s).send);
        CHECK(sent.disowned() == ReleaseOutcome::released);
    }
    SECTION("the store confirms it")
    {
        CHECK(sent.confirmed() == ReleaseOutcome::released);
        CHECK(sent.ended());
    }
}

TEST_CASE("rule 8 of a release: a key that may have been kept before is not confirmed by \"not the owner\"")
{
    SentRelease keeping(true);
    SECTION("an earlier request may have kept it")
    {
        (void)keeping.failed(true, sending);
        CHECK(keeping.tick(sending + 10ms).send);
        CHECK(keeping.disowned() == ReleaseOutcome::unconfirmed);
    }
    SECTION("only one request was sent")
    {
        CHECK(keeping.disowned() == ReleaseOutcome::was_lost);
    }
    SECTION("the store confirms it")
    {
        CHECK(keeping.confirmed() == ReleaseOutcome::released);
    }
}

} // namespace tenure::engine
