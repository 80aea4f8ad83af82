// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The line of waiters, where the store keeps one.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals;

namespace
{

/** A client, and its events of one range. */
struct Waiter {
    Waiter(Conformance const& test, KeyRangePtr range, WatchAs as = WatchAs::waiter)
        : client(test.client())
    {
        client->on_strand([&] {
            watch = client->backend().watch(std::move(range), as, [&](WatchEvent event) { events.push_back(event); });
        });
        client->run_until([&] { return count(WatchEvent::in_force) > 0; });
    }
    Waiter(Waiter const&) = delete;
    Waiter& operator=(Waiter const&) = delete;
    ~Waiter()
    {
        client->on_strand([&] { watch.reset(); });
    }

    [[nodiscard]] std::ptrdiff_t count(WatchEvent event) const { return std::ranges::count(events, event); }
    [[nodiscard]] ClaimReply
    claim(Conformance const& test, KeyRangePtr const& range, unsigned number, Waits waits = Waits::in_line) const
    {
        auto request = test.request(*client, range, owner(number), Conformance::long_ttl);
        request.waits = waits;
        return client->claim(request);
    }
    /** Runs until the nth event of this kind. */
    void hears(WatchEvent event, std::ptrdiff_t times = 1)
    {
        client->run_until([&] { return count(event) >= times; });
    }
    void leaves_line(KeyRangePtr const& range) const
    {
        client->on_strand([&] { client->backend().leave_line(range); });
        client->run_for(50ms);
    }

    std::unique_ptr<Client> client;
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
};

bool keeps_line(Conformance const& test)
{
    return test.client()->backend().keeps_line();
}

} // namespace

TEST_CASE("releases name waiters in the order in which they came", "[line]")
{
    Conformance test;
    if (!keeps_line(test))
        SKIP("the store keeps no line");
    auto const range = test.lock("lock");
    auto const holder = test.client();
    auto const first = expect<Granted>(holder->claim(test.request(*holder, range, owner(1), Conformance::long_ttl)));
    Waiter two(test, range);
    Waiter three(test, range);
    Waiter observer(test, range, WatchAs::observer);
    expect<Busy>(two.claim(test, range, 2));
    expect<Busy>(three.claim(test, range, 3));
    // asks once more, and keeps its place
    expect<Busy>(two.claim(test, range, 2));

    CHECK(expect<Released>(holder->release(claim_of(range, owner(1), first))).named_another);
    two.hears(WatchEvent::our_turn);
    three.hears(WatchEvent::others_turn);
    observer.hears(WatchEvent::hint);
    CHECK(three.count(WatchEvent::our_turn) == 0);

    auto const second = expect<Granted>(two.claim(test, range, 2));
    CHECK(expect<Released>(two.client->release(claim_of(range, owner(2), second))).named_another);
    three.hears(WatchEvent::our_turn);
    CHECK(two.count(WatchEvent::our_turn) == 1);

    auto const third = expect<Granted>(three.claim(test, range, 3));
    CHECK_FALSE(expect<Released>(three.client->release(claim_of(range, owner(3), third))).named_another);
}

TEST_CASE("a named waiter whose claim comes too late stands in front", "[line]")
{
    Conformance test;
    if (!keeps_line(test))
        SKIP("the store keeps no line");
    auto const range = test.lock("lock");
    auto const holder = test.client();
    auto const first = expect<Granted>(holder->claim(test.request(*holder, range, owner(1), Conformance::long_ttl)));
    Waiter two(test, range);
    Waiter three(test, range);
    expect<Busy>(two.claim(test, range, 2));
    expect<Busy>(three.claim(test, range, 3));
    expect<Released>(holder->release(claim_of(range, owner(1), first)));
    two.hears(WatchEvent::our_turn);
    auto const again = expect<Granted>(holder->claim(test.request(*holder, range, owner(4), Conformance::long_ttl)));
    expect<Busy>(two.claim(test, range, 2, Waits::in_front));
    expect<Released>(holder->release(claim_of(range, owner(4), again)));
    two.hears(WatchEvent::our_turn, 2);
    CHECK(three.count(WatchEvent::our_turn) == 0);
}

TEST_CASE("one that leaves the line, or is granted a key, is not named", "[line]")
{
    Conformance test;
    if (!keeps_line(test))
        SKIP("the store keeps no line");
    auto const range = test.lock("lock");
    auto const holder = test.client();
    auto const first = expect<Granted>(holder->claim(test.request(*holder, range, owner(1), Conformance::long_ttl)));
    Waiter two(test, range);
    expect<Busy>(two.claim(test, range, 2));
    SECTION("it leaves")
    {
        two.leaves_line(range);
    }
    SECTION("it only tried")
    {
        two.leaves_line(range);
        expect<Busy>(two.claim(test, range, 2, Waits::no));
    }
    CHECK_FALSE(expect<Released>(holder->release(claim_of(range, owner(1), first))).named_another);
    CHECK(two.count(WatchEvent::our_turn) == 0);

    // a key that is free all the same, and a place that goes with the grant
    auto const second = expect<Granted>(holder->claim(test.request(*holder, range, owner(5), Conformance::long_ttl)));
    expect<Busy>(two.claim(test, range, 2));
    test.subject->erase(test.key("lock"));
    auto const taken = expect<Granted>(two.claim(test, range, 2));
    expect<NotOwner>(holder->release(claim_of(range, owner(5), second)));
    CHECK_FALSE(expect<Released>(two.client->release(claim_of(range, owner(2), taken))).named_another);
}

TEST_CASE("a store that waits for what it holds itself names no other", "[line]")
{
    Conformance test;
    if (!keeps_line(test))
        SKIP("the store keeps no line");
    auto const range = test.lock("lock");
    Waiter one(test, range);
    auto const first = expect<Granted>(one.claim(test, range, 1, Waits::no));
    expect<Busy>(one.claim(test, range, 2));
    CHECK_FALSE(expect<Released>(one.client->release(claim_of(range, owner(1), first))).named_another);
    one.hears(WatchEvent::our_turn);
}

TEST_CASE("each key of a pool that is released names one waiter", "[line]")
{
    Conformance test;
    if (!keeps_line(test))
        SKIP("the store keeps no line");
    auto const range = test.pool("pool:", 2);
    auto const holder = test.client();
    auto const first = expect<Granted>(holder->claim(test.request(*holder, range, owner(1), Conformance::long_ttl)));
    auto const second = expect<Granted>(holder->claim(test.request(*holder, range, owner(2), Conformance::long_ttl)));
    Waiter three(test, range);
    Waiter four(test, range);
    expect<Busy>(three.claim(test, range, 3));
    expect<Busy>(four.claim(test, range, 4));
    CHECK(expect<Released>(holder->release(claim_of(range, owner(2), second))).named_another);
    three.hears(WatchEvent::our_turn);
    CHECK(four.count(WatchEvent::our_turn) == 0);
    expect<Released>(holder->withdraw(range, owner(1)));
    four.hears(WatchEvent::our_turn);
    CHECK(expect<Granted>(four.claim(test, range, 4)).index == first.index);
    CHECK(expect<Granted>(three.claim(test, range, 3)).index == second.index);
}

TEST_CASE("a release without notifications names nobody", "[line]")
{
    Conformance test;
    if (!keeps_line(test))
        SKIP("the store keeps no line");
    auto const range = test.lock("lock");
    auto const holder = test.client();
    auto const first = expect<Granted>(holder->claim(test.request(*holder, range, owner(1), Conformance::long_ttl)));
    Waiter two(test, range);
    expect<Busy>(two.claim(test, range, 2));
    CHECK_FALSE(expect<Released>(holder->release(claim_of(range, owner(1), first), false)).named_another);
    two.client->run_for(50ms);
    CHECK(two.count(WatchEvent::our_turn) == 0);
}

} // namespace tenure::conformance
