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

/** A store that keeps a line, and the client that holds the keys. */
struct LineOfWaiters {
    Conformance test;
    std::unique_ptr<Client> holder = test.client();
    KeyRangePtr range = test.lock("lock");

    LineOfWaiters()
    {
        if (!holder->backend().capabilities().keeps_line)
            SKIP("the store keeps no line");
    }

    [[nodiscard]] ClaimPtr take(unsigned number) const { return test.take(*holder, range, number); }
    [[nodiscard]] bool release_names_another(ClaimPtr const& claim, bool notifications = true) const
    {
        return expect<Released>(holder->release(claim, notifications)).named_another;
    }
};

/** A client, and its events of one range. */
struct Waiter {
    explicit Waiter(LineOfWaiters const& there, WatchAs as = WatchAs::waiter)
        : line(there)
        , client(there.test.client())
    {
        client->on_strand([&] {
            watch = client->backend().watch(line.range, as, [&](WatchEvent event) { events.push_back(event); });
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
    [[nodiscard]] ClaimReply claim(unsigned number, Waits waits = Waits::in_line) const
    {
        auto request = line.test.request(*client, line.range, owner(number), Conformance::long_ttl);
        request.waits = waits;
        return client->claim(request);
    }
    /** Claims the key and releases it. True if the release named another waiter. */
    [[nodiscard]] bool release_names_another(unsigned number) const
    {
        auto const claim = claim_of(line.range, owner(number), expect<Granted>(this->claim(number)));
        return expect<Released>(client->release(claim)).named_another;
    }
    /** Runs until the nth event of this kind. */
    void hears(WatchEvent event, std::ptrdiff_t times = 1)
    {
        client->run_until([&] { return count(event) >= times; });
    }
    void leaves_line() const
    {
        client->on_strand([&] { client->backend().leave_line(line.range); });
        client->run_for(50ms);
    }

    LineOfWaiters const& line;
    std::unique_ptr<Client> client;
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
};

} // namespace

TEST_CASE("releases name waiters in the order in which they came", "[line]")
{
    LineOfWaiters const line;
    auto const first = line.take(1);
    Waiter two(line);
    Waiter three(line);
    Waiter observer(line, WatchAs::observer);
    expect<Busy>(two.claim(2));
    expect<Busy>(three.claim(3));
    // asks once more, and keeps its place
    expect<Busy>(two.claim(2));

    CHECK(line.release_names_another(first));
    two.hears(WatchEvent::our_turn);
    three.hears(WatchEvent::others_turn);
    observer.hears(WatchEvent::hint);
    CHECK(three.count(WatchEvent::our_turn) == 0);

    CHECK(two.release_names_another(2));
    three.hears(WatchEvent::our_turn);
    CHECK(two.count(WatchEvent::our_turn) == 1);

    CHECK_FALSE(three.release_names_another(3));
}

TEST_CASE("a named waiter whose claim comes too late stands in front", "[line]")
{
    LineOfWaiters const line;
    auto const first = line.take(1);
    Waiter two(line);
    Waiter three(line);
    expect<Busy>(two.claim(2));
    expect<Busy>(three.claim(3));
    expect<Released>(line.holder->release(first));
    two.hears(WatchEvent::our_turn);
    auto const again = line.take(4);
    expect<Busy>(two.claim(2, Waits::in_front));
    expect<Released>(line.holder->release(again));
    two.hears(WatchEvent::our_turn, 2);
    CHECK(three.count(WatchEvent::our_turn) == 0);
}

TEST_CASE("one that leaves the line, or is granted a key, is not named", "[line]")
{
    LineOfWaiters const line;
    auto const first = line.take(1);
    Waiter two(line);
    expect<Busy>(two.claim(2));
    SECTION("it leaves")
    {
        two.leaves_line();
    }
    SECTION("it only tried")
    {
        two.leaves_line();
        expect<Busy>(two.claim(2, Waits::no));
    }
    CHECK_FALSE(line.release_names_another(first));
    CHECK(two.count(WatchEvent::our_turn) == 0);

    // a key that is free all the same, and a place that goes with the grant
    auto const second = line.take(5);
    expect<Busy>(two.claim(2));
    line.test.subject->erase(line.test.key("lock"));
    auto const taken = claim_of(line.range, owner(2), expect<Granted>(two.claim(2)));
    expect<NotOwner>(line.holder->release(second));
    CHECK_FALSE(expect<Released>(two.client->release(taken)).named_another);
}

TEST_CASE("a store that waits for what it holds itself names no other", "[line]")
{
    LineOfWaiters const line;
    Waiter one(line);
    auto const first = claim_of(line.range, owner(1), expect<Granted>(one.claim(1, Waits::no)));
    expect<Busy>(one.claim(2));
    CHECK_FALSE(expect<Released>(one.client->release(first)).named_another);
    one.hears(WatchEvent::our_turn);
}

TEST_CASE("each key of a pool that is released names one waiter", "[line]")
{
    LineOfWaiters line;
    line.range = line.test.pool("pool:", 2);
    auto const first = line.take(1);
    auto const second = line.take(2);
    Waiter three(line);
    Waiter four(line);
    expect<Busy>(three.claim(3));
    expect<Busy>(four.claim(4));
    CHECK(line.release_names_another(second));
    three.hears(WatchEvent::our_turn);
    CHECK(four.count(WatchEvent::our_turn) == 0);
    expect<Released>(line.holder->withdraw(line.range, owner(1)));
    four.hears(WatchEvent::our_turn);
    CHECK(expect<Granted>(four.claim(4)).index == first->index);
    CHECK(expect<Granted>(three.claim(3)).index == second->index);
}

TEST_CASE("a release without notifications names nobody", "[line]")
{
    LineOfWaiters const line;
    auto const first = line.take(1);
    Waiter two(line);
    expect<Busy>(two.claim(2));
    CHECK_FALSE(line.release_names_another(first, false));
    two.client->run_for(50ms);
    CHECK(two.count(WatchEvent::our_turn) == 0);
}

} // namespace tenure::conformance
