// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The rules of PlaceMachine, by the numbers of its header. Rules 8 to 10 as the engine carries them out: places.cpp.
#include "engine/machines/place_machine.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace tenure::engine
{

using namespace std::chrono_literals;

namespace
{

using backend::InLine;
using backend::Share;
using backend::WatchEvent;

Instant const asked = Instant{} + 1000s;
constexpr Share fair{};
constexpr Share reader{.weight = 1, .capacity = Share::all};
constexpr Share writer{.weight = Share::all, .capacity = Share::all};

/** A place with the number 7 and a ttl of 3 s, of which a lease may be used for 2.66 s: 2.96 s less its notice. */
struct Waiting {
    RenewalTerms terms{.notice = 300ms};
    PlaceMachine machine;

    Waiting() { answer(7); }
    void answer(std::uint64_t number, Clock::duration after = 0ms)
    {
        machine.placed({.number = number, .ttl = 3s, .since = asked + after});
    }
    [[nodiscard]] PlaceMachine::Step
    hear(WatchEvent event, std::vector<std::uint64_t> const& numbers = {}, Clock::duration after = 1s) const
    {
        return machine.heard({event, numbers}, terms, asked + after);
    }
};

} // namespace

TEST_CASE("rule 1 of places: one waiter of a process has a place if its share is exclusive, else up to 16")
{
    CHECK(PlaceMachine::admits(0, fair, fair));
    CHECK(PlaceMachine::admits(0, writer, writer));
    CHECK_FALSE(PlaceMachine::admits(1, fair, fair));
    CHECK_FALSE(PlaceMachine::admits(1, reader, writer));
    CHECK_FALSE(PlaceMachine::admits(1, writer, reader));
    CHECK(PlaceMachine::admits(1, reader, reader));
    CHECK(PlaceMachine::admits(15, reader, reader));
    CHECK_FALSE(PlaceMachine::admits(16, reader, reader));
}

TEST_CASE("rule 2 of places: a place is asked for again a third of the ttl after the answered claim")
{
    CHECK(PlaceMachine().ask_by() == Instant::max());
    Waiting waiting;
    CHECK(waiting.machine.ask_by() == asked + 1s);
    waiting.answer(7, 900ms);
    CHECK(waiting.machine.ask_by() == asked + 1900ms);
}

TEST_CASE("rule 3 of places: a message with the number is a grant that counts from the answered claim")
{
    Waiting const waiting;
    auto const step = waiting.hear(WatchEvent::our_turn, {3, 7});
    REQUIRE(step.grant);
    CHECK(step.grant->fencing_token == 7);
    CHECK(step.grant->ttl == 3s);
    CHECK(step.grant->since == asked);
    CHECK_FALSE(step.ask);
}

TEST_CASE("rule 4 of places: a message that leaves no time for a lease is no grant")
{
    Waiting waiting;
    CHECK(waiting.hear(WatchEvent::our_turn, {7}, 2659ms).grant);
    auto const late = waiting.hear(WatchEvent::our_turn, {7}, 2660ms);
    CHECK_FALSE(late.grant);
    CHECK(late.ask);
    // the place was asked for again meanwhile
    waiting.answer(7, 1s);
    CHECK(waiting.hear(WatchEvent::our_turn, {7}, 2660ms).grant);
}

TEST_CASE("rule 5 of places: news without numbers are a reason to ask, and news of others are none")
{
    Waiting const waiting;
    for (auto const event : {WatchEvent::hint, WatchEvent::in_force, WatchEvent::our_turn}) {
        auto const step = waiting.hear(event);
        CHECK(step.ask);
        CHECK_FALSE(step.grant);
    }
    for (auto const event : {WatchEvent::others_turn, WatchEvent::interrupted, WatchEvent::unavailable})
        CHECK_FALSE(waiting.hear(event).ask);
    auto const of_others = waiting.hear(WatchEvent::our_turn, {6, 8});
    CHECK_FALSE(of_others.ask);
    CHECK_FALSE(of_others.grant);
    // the number that it does not know yet may be its own
    std::array<std::uint64_t, 1> const numbers{7};
    auto const early = PlaceMachine().heard({WatchEvent::our_turn, numbers}, waiting.terms, asked);
    CHECK(early.ask);
    CHECK_FALSE(early.grant);
}

TEST_CASE("rule 6 of places: of two answers the greater number counts, and of one number the later claim")
{
    Waiting waiting;
    waiting.answer(7, 1s);
    waiting.answer(7, 500ms);
    CHECK(waiting.machine.ask_by() == asked + 2s);
    waiting.answer(9, 200ms);
    waiting.answer(7, 2s);
    CHECK(waiting.machine.ask_by() == asked + 1200ms);
    CHECK_FALSE(waiting.hear(WatchEvent::our_turn, {7}).grant);
    CHECK(waiting.hear(WatchEvent::our_turn, {9}).grant);
}

TEST_CASE("rule 7 of places: a greater number than before means that the place has lapsed")
{
    CHECK_FALSE(PlaceMachine().lapsed(7));
    Waiting const waiting;
    CHECK_FALSE(waiting.machine.lapsed(7));
    CHECK_FALSE(waiting.machine.lapsed(6));
    CHECK(waiting.machine.lapsed(8));
}

TEST_CASE("rule 8 of places: the place of an acquisition without a lease is withdrawn, unless it is inherited")
{
    Waiting waiting;
    CHECK(waiting.machine.withdraws(false));
    CHECK_FALSE(waiting.machine.withdraws(true));
    CHECK_FALSE(PlaceMachine().withdraws(false));
    PlaceMachine heir;
    heir.inherit(waiting.machine);
    CHECK(heir.withdraws(false));
    CHECK(heir.ask_by() == asked + 1s);
    waiting.machine.forget();
    CHECK_FALSE(waiting.machine.has_place());
}

TEST_CASE("rule 9 of places: no place is inherited while a claim of it is pending or unknown")
{
    Waiting const waiting;
    CHECK(waiting.machine.heritable(false));
    CHECK_FALSE(waiting.machine.heritable(true));
    CHECK_FALSE(PlaceMachine().heritable(false));
}

TEST_CASE("rule 10 of places: the place of a late answer is withdrawn, unless its owner holds a lease")
{
    backend::Busy late;
    CHECK_FALSE(PlaceMachine::withdraws_late(late, false));
    late.place = InLine{.number = 7};
    CHECK(PlaceMachine::withdraws_late(late, false));
    CHECK_FALSE(PlaceMachine::withdraws_late(late, true));
}

} // namespace tenure::engine
