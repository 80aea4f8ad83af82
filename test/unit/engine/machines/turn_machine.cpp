// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The rules of TurnMachine, by the numbers of its header.
#include "engine/machines/turn_machine.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <optional>

namespace tenure::engine
{

using namespace std::chrono_literals;

namespace
{

Instant const turn_start = Instant{} + 1000s;
TurnMachine::Head const no_head;
TurnMachine::Head const waiting{true, false, false};
TurnMachine::Head const asking{true, true, false};
TurnMachine::Head const holding_back{true, false, true};
/// without jitter
constexpr std::uint64_t none = 0;

/** The rules of a range in a store that keeps a line, whose claims are answered at once: a grace is 10 ms. */
struct Turns {
    Grace grace;
    TurnMachine machine{true, grace};

    TurnMachine::Step hear(backend::WatchEvent event, TurnMachine::Head head, Clock::duration after = 0ms)
    {
        return machine.news(event, head, turn_start + after, none);
    }
    /** The head stands in line. */
    void line_up()
    {
        (void)hear(backend::WatchEvent::in_force, waiting);
        CHECK(machine.next_place() == backend::Waits::in_line);
    }
};

} // namespace

TEST_CASE("rule 1 of turns: the head claims at once after a hint, when hints begin, and after an own key is freed")
{
    Turns turns;
    CHECK(turns.hear(backend::WatchEvent::in_force, waiting).claim_at == at_once);
    CHECK(turns.hear(backend::WatchEvent::hint, waiting).claim_at == at_once);
    CHECK(turns.machine.release_ends(true).claim_at == at_once);
    CHECK_FALSE(turns.machine.release_ends(false).claim_at);
    CHECK_FALSE(turns.hear(backend::WatchEvent::interrupted, waiting).claim_at);
    SECTION("the time of the release counts for the waiter that takes the key")
    {
        (void)turns.hear(backend::WatchEvent::hint, waiting, 1ms);
        // a pending claim may get this key
        (void)turns.hear(backend::WatchEvent::hint, asking, 2ms);
        turns.machine.found_held(turn_start);
        CHECK(turns.machine.freed_at() == turn_start + 1ms);
        CHECK_FALSE(turns.machine.freed_at());
    }
    SECTION("another program took the key")
    {
        (void)turns.hear(backend::WatchEvent::hint, waiting, 1ms);
        turns.machine.found_held(turn_start + 1ms);
        CHECK_FALSE(turns.machine.freed_at());
    }
}

TEST_CASE("rule 2 of turns: claims stand in line once hints come, and the store leaves the line where they end")
{
    Turns turns;
    CHECK(turns.machine.next_place() == backend::Waits::no);
    SECTION("hints end before a claim stood in line")
    {
        CHECK_FALSE(turns.hear(backend::WatchEvent::unavailable, waiting).leave_line);
    }
    SECTION("hints end later")
    {
        turns.line_up();
        CHECK(turns.machine.lined_up());
        CHECK_FALSE(turns.machine.placed(turn_start).leave_line);
        CHECK(turns.hear(backend::WatchEvent::unavailable, waiting).leave_line);
        CHECK_FALSE(turns.machine.hints_come());
        CHECK(turns.machine.next_place() == backend::Waits::no);
        // a claim that was sent before
        CHECK(turns.machine.placed(turn_start).leave_line);
        SECTION("and begin again")
        {
            turns.line_up();
        }
    }
    SECTION("a claim from before the queue stands in line")
    {
        turns.machine.stands_in_line();
        CHECK(turns.machine.next_place() == backend::Waits::in_line);
    }
    SECTION("the store keeps no line")
    {
        TurnMachine without(false, turns.grace);
        (void)without.news(backend::WatchEvent::in_force, waiting, turn_start, none);
        CHECK(without.next_place() == backend::Waits::no);
    }
}

TEST_CASE("rule 3 of turns: a named store claims in front, until a claim was answered")
{
    Turns turns;
    turns.line_up();
    CHECK(turns.hear(backend::WatchEvent::our_turn, waiting).claim_at == at_once);
    CHECK(turns.machine.next_place() == backend::Waits::in_front);
    CHECK(turns.machine.next_place() == backend::Waits::in_line);
    SECTION("a failed claim leaves the place to the next")
    {
        turns.machine.claim_failed(backend::Waits::in_front);
        CHECK(turns.machine.next_place() == backend::Waits::in_front);
    }
    SECTION("a failed claim with another place does not")
    {
        turns.machine.claim_failed(backend::Waits::in_line);
        CHECK(turns.machine.next_place() == backend::Waits::in_line);
    }
    SECTION("no waiter is left")
    {
        (void)turns.hear(backend::WatchEvent::our_turn, waiting);
        turns.machine.no_head();
        CHECK(turns.machine.next_place() == backend::Waits::in_line);
    }
}

TEST_CASE("rule 4 of turns: a name without a head counts for a first claim that was sent before")
{
    Turns turns;
    turns.line_up();
    (void)turns.hear(backend::WatchEvent::our_turn, no_head, 5ms);
    CHECK(turns.machine.next_place() == backend::Waits::in_line);
    SECTION("sent before")
    {
        CHECK(turns.machine.named_since(turn_start + 4ms));
        CHECK(turns.machine.next_place() == backend::Waits::in_front);
        CHECK(turns.machine.place_may_stay());
        CHECK_FALSE(turns.machine.named_since(turn_start + 4ms));
    }
    SECTION("sent later")
    {
        CHECK_FALSE(turns.machine.named_since(turn_start + 6ms));
    }
}

TEST_CASE("rule 5 of turns: the head holds back while others are named, unless it does so already")
{
    Turns turns;
    CHECK(turns.hear(backend::WatchEvent::others_turn, waiting).claim_at == turn_start + 10ms);
    CHECK(turns.hear(backend::WatchEvent::others_turn, asking).claim_at == turn_start + 10ms);
    CHECK_FALSE(turns.hear(backend::WatchEvent::others_turn, holding_back).claim_at);
}

TEST_CASE("rule 6 of turns: a grace is two round trips within bounds, and up to twice as long by jitter")
{
    Grace grace;
    CHECK(grace.over_at(turn_start, 0) == turn_start + 10ms);
    CHECK(grace.over_at(turn_start, 1023) > turn_start + 19ms);
    CHECK(grace.over_at(turn_start, 1023) < turn_start + 20ms);
    for (int claim = 0; claim < 100; ++claim)
        grace.claim_took(40ms);
    CHECK(grace.over_at(turn_start, 0) > turn_start + 79ms);
    CHECK(grace.over_at(turn_start, 0) <= turn_start + 80ms);
    for (int claim = 0; claim < 100; ++claim)
        grace.claim_took(10s);
    CHECK(grace.over_at(turn_start, 0) == turn_start + 250ms);
}

TEST_CASE("rule 7 of turns: after an own release that named others, the head and later acquisitions hold back")
{
    Turns turns;
    turns.machine.release_begins(turn_start);
    CHECK_FALSE(turns.machine.opens_at(turn_start, none));
    CHECK(turns.machine.release_named_another(turn_start, none).claim_at == turn_start + 10ms);
    CHECK(turns.machine.opens_at(turn_start + 5ms, none) == turn_start + 10ms);
    CHECK_FALSE(turns.machine.opens_at(turn_start + 10ms, none));
    // the key goes to the named store
    CHECK_FALSE(turns.machine.freed_at());
}

TEST_CASE("rule 8 of turns: for two seconds a new acquisition lets pending own releases end, for at most a grace")
{
    Turns turns;
    (void)turns.machine.release_named_another(turn_start, none);
    turns.machine.release_begins(turn_start + 1s);
    CHECK(turns.machine.opens_at(turn_start + 1s, none) == turn_start + 1010ms);
    CHECK_FALSE(turns.machine.opens_at(turn_start + 2s, none));
    SECTION("the release has ended")
    {
        (void)turns.machine.release_ends(false);
        CHECK_FALSE(turns.machine.opens_at(turn_start + 1s, none));
    }
}

TEST_CASE("rule 9 of turns: after a grant to another waiter the head claims again, to stand in line")
{
    Turns turns;
    turns.line_up();
    (void)turns.hear(backend::WatchEvent::our_turn, waiting);
    SECTION("to another waiter")
    {
        CHECK(turns.machine.granted(backend::Waits::in_line, false).claim_at == at_once);
    }
    SECTION("to the head")
    {
        CHECK_FALSE(turns.machine.granted(backend::Waits::in_line, true).claim_at);
    }
    CHECK(turns.machine.next_place() == backend::Waits::in_line);
}

TEST_CASE("rule 10 of turns: a place may stay if a waiter gives up, or the store is named during a claim")
{
    Turns turns;
    turns.line_up();
    SECTION("others wait")
    {
        turns.machine.gave_up(true);
        CHECK(turns.machine.place_may_stay());
        turns.machine.gave_up(false);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
    SECTION("named during a claim")
    {
        (void)turns.hear(backend::WatchEvent::our_turn, asking);
        CHECK(turns.machine.place_may_stay());
    }
    SECTION("named right after a claim found the place again")
    {
        (void)turns.machine.placed(turn_start);
        (void)turns.machine.placed(turn_start + 90ms);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 99ms);
        CHECK(turns.machine.place_may_stay());
    }
    SECTION("named a grace after that")
    {
        (void)turns.machine.placed(turn_start);
        (void)turns.machine.placed(turn_start + 90ms);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 100ms);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
    SECTION("named right after the claim that took the place")
    {
        (void)turns.machine.placed(turn_start);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 1ms);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
    SECTION("a grant in front takes the store out of the line")
    {
        (void)turns.machine.placed(turn_start);
        (void)turns.machine.placed(turn_start + 1ms);
        (void)turns.machine.granted(backend::Waits::in_front, true);
        (void)turns.machine.placed(turn_start + 2ms);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 3ms);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
    SECTION("the name for which a granted claim had not waited comes after the next claim")
    {
        (void)turns.machine.placed(turn_start);
        (void)turns.machine.granted(backend::Waits::in_line, true);
        (void)turns.machine.placed(turn_start + 1ms);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 10ms);
        CHECK(turns.machine.place_may_stay());
    }
    SECTION("that name came while the granted claim was pending")
    {
        (void)turns.hear(backend::WatchEvent::our_turn, asking);
        turns.machine.gave_up(false);
        (void)turns.machine.granted(backend::Waits::in_line, true);
        (void)turns.machine.placed(turn_start + 1ms);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 2ms);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
    SECTION("the news of that name took longer than a grace")
    {
        (void)turns.machine.granted(backend::Waits::in_line, true);
        (void)turns.machine.placed(turn_start + 1ms);
        (void)turns.hear(backend::WatchEvent::our_turn, waiting, 11ms);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
    SECTION("named between claims")
    {
        (void)turns.hear(backend::WatchEvent::our_turn, waiting);
        CHECK_FALSE(turns.machine.place_may_stay());
    }
}

TEST_CASE("rule 11 of turns: a new head claims at once, or at the end of the grace")
{
    Turns turns;
    CHECK(turns.machine.turn_begins(turn_start).claim_at == at_once);
    (void)turns.machine.release_named_another(turn_start, none);
    CHECK(turns.machine.turn_begins(turn_start + 9ms).claim_at == turn_start + 10ms);
    CHECK(turns.machine.turn_begins(turn_start + 10ms).claim_at == at_once);
}

} // namespace tenure::engine
