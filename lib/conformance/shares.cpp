// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that are held in places: fair locks, read-write locks and semaphores. Order, sums and messages.
#include "shares.hpp"

#include <algorithm>
#include <chrono>
#include <variant>
#include <vector>

namespace tenure::conformance
{

TEST_CASE("places hold in the order in which they were taken", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    auto const second = store.wait(2);
    auto const third = store.wait(3);
    CHECK(first->fencing_token < second.number);
    CHECK(second.number < third.number);
    CHECK(second.ahead == 1);
    CHECK(third.ahead == 2);
    CHECK(second.ttl == Conformance::long_ttl);
    expect<Released>(store.client->release(first));
    CHECK(Sharing::place_of(store.again(3)).number == third.number);
    CHECK(expect<Granted>(store.again(2)).fencing_token == second.number);
    CHECK(Sharing::place_of(store.again(3)).ahead == 1);
}

TEST_CASE("shares hold together while their sum fits", "[shares]")
{
    Sharing const store;
    auto const one = store.hold(1, permits(1, 3));
    auto const two = store.hold(2, permits(2, 3));
    CHECK(one->fencing_token < two->fencing_token);
    auto const waits = store.wait(3, permits(1, 3));
    CHECK(waits.ahead == 2);
    expect<Released>(store.client->release(one));
    CHECK(expect<Granted>(store.again(3, permits(1, 3))).fencing_token == waits.number);
    CHECK_FALSE(std::holds_alternative<Granted>(store.try_once(4, permits(1, 3))));
}

TEST_CASE("readers share, and a writer is alone", "[shares]")
{
    Sharing const store;
    auto const one = store.hold(1, reader);
    auto const two = store.hold(2, reader);
    (void)store.wait(3, writer);
    // behind the writer
    (void)store.wait(4, reader);
    expect<Released>(store.client->release(one));
    CHECK_FALSE(store.holds(3, writer));
    expect<Released>(store.client->release(two));
    auto const written = claim_of(store.range, owner(3), expect<Granted>(store.again(3, writer)));
    CHECK(written->fencing_token > two->fencing_token);
    CHECK_FALSE(store.holds(4, reader));
    expect<Released>(store.client->release(written));
    CHECK(store.holds(4, reader));
}

TEST_CASE("the least capacity up to a place counts, and no place overtakes", "[shares]")
{
    Sharing const store;
    auto const old = store.hold(1, permits(2, 4));
    (void)store.wait(2, permits(1, 2));
    (void)store.wait(3, permits(1, 4));
    expect<Released>(store.client->release(old));
    CHECK(store.holds(3, permits(1, 4)));
    CHECK(store.holds(2, permits(1, 2)));
    (void)store.wait(4, permits(1, 4));
}

TEST_CASE("a claim of an owner that has a place is answered with that place", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    CHECK(expect<Granted>(store.again(1)).fencing_token == first->fencing_token);
    auto const second = store.wait(2);
    auto const same = Sharing::place_of(store.again(2));
    CHECK(same.number == second.number);
    CHECK(same.ahead == 1);
    CHECK(same.since >= second.since);
    CHECK(store.state().places.size() == 2);
    expect<Released>(store.client->release(first));
    CHECK(expect<Granted>(store.again(2)).fencing_token == second.number);
    CHECK(store.state().places.size() == 1);
}

TEST_CASE("asking again keeps a place beyond its first ttl", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    auto const second = store.wait(2, fair, store.brief);
    auto const end = store.client->now() + 2 * store.brief;
    while (store.client->now() < end) {
        CHECK(Sharing::place_of(store.again(2, fair, store.brief)).number == second.number);
        store.client->run_for(store.brief / 4);
    }
    expect<Released>(store.client->release(first));
    CHECK(expect<Granted>(store.again(2, fair, store.brief)).fencing_token == second.number);
}

TEST_CASE("a try is granted only behind all places, and else leaves none", "[shares]")
{
    Sharing const store;
    auto const first = claim_of(store.range, owner(1), expect<Granted>(store.try_once(1, permits(1, 2))));
    // the sum would fit, but it would overtake
    (void)store.wait(2, permits(2, 2));
    CHECK_FALSE(expect<Busy>(store.try_once(3, permits(1, 2))).place);
    CHECK(store.state().places.size() == 2);
    expect<Released>(store.client->withdraw(store.range, owner(2)));
    CHECK(std::holds_alternative<Granted>(store.try_once(3, permits(1, 2))));
}

TEST_CASE("a release tells the numbers of all places that hold from then on", "[shares]")
{
    Sharing const store;
    Listener listener(store);
    auto const written = store.hold(1, writer);
    auto const two = listener.wait(store, 2, reader);
    auto const three = listener.wait(store, 3, reader);
    auto const behind = listener.wait(store, 4, writer);
    expect<Released>(store.client->release(written));
    listener.client->run_until([&] { return listener.told; });
    // a store that cannot tell numbers tells none
    if (!listener.numbers.empty())
        CHECK(listener.numbers == std::vector{two.number, three.number});
    CHECK(listener.holds(store, 2, reader));
    CHECK(listener.holds(store, 3, reader));
    CHECK_FALSE(listener.holds(store, 4, writer));
    CHECK(std::ranges::find(listener.numbers, behind.number) == listener.numbers.end());
}

TEST_CASE("a withdrawal and an eviction tell the numbers that hold since then", "[shares]")
{
    Sharing const store;
    Listener listener(store);
    (void)store.hold(1, permits(1, 2));
    (void)store.wait(2, permits(2, 2));
    auto const third = listener.wait(store, 3, permits(1, 2));
    SECTION("a withdrawal")
    {
        expect<Released>(store.client->withdraw(store.range, owner(2)));
    }
    SECTION("an eviction")
    {
        expect<Evicted>(store.client->evict(store.range, 0, owner(2)));
    }
    listener.client->run_until([&] { return listener.told; });
    if (!listener.numbers.empty())
        CHECK(listener.numbers == std::vector{third.number});
    CHECK(expect<Granted>(listener.again(store, 3, permits(1, 2))).fencing_token == third.number);
}

TEST_CASE("a claim that finds a lapsed place tells the numbers that hold since then", "[shares]")
{
    Sharing const store;
    Listener listener(store);
    (void)store.hold(1, fair, store.brief);
    auto const second = listener.wait(store, 2, fair);
    store.let_lapse(store.brief);
    (void)store.wait(3);
    listener.client->run_until([&] { return listener.told; });
    if (!listener.numbers.empty())
        CHECK(listener.numbers == std::vector{second.number});
    CHECK(listener.holds(store, 2, fair));
}

TEST_CASE("an inspection shows all places in their order", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1, permits(2, 3));
    auto const second = store.wait(2, permits(3, 3), store.brief);
    (void)store.wait(3, permits(1, 3));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::held);
    CHECK(state.owner == owner(1));
    REQUIRE(state.places.size() == 3);
    CHECK(state.places[0].owner == owner(1));
    CHECK(state.places[0].weight == 2);
    CHECK(state.places[0].capacity == 3);
    CHECK(state.places[0].fencing_token == first->fencing_token);
    CHECK(state.places[0].holds);
    CHECK(state.places[1].owner == owner(2));
    CHECK(state.places[1].weight == 3);
    CHECK(state.places[1].fencing_token == second.number);
    CHECK_FALSE(state.places[1].holds);
    CHECK(state.places[1].remaining <= store.brief + store.test.subject->expiry_slack());
    CHECK(state.places[1].remaining > 0ms);
    CHECK(state.places[2].owner == owner(3));
    CHECK_FALSE(state.places[2].holds);
    store.let_lapse(store.brief);
    // nothing was written meanwhile
    auto const later = store.state();
    REQUIRE(later.places.size() == 2);
    CHECK(later.places[1].owner == owner(3));
    CHECK(later.places[1].holds);
}

TEST_CASE("a listing names a key that is held in places, once", "[shares][list]")
{
    Sharing const store;
    if (store.client->backend().capabilities().no_list != nullptr)
        SKIP(store.client->backend().capabilities().no_list);
    (void)store.hold(1);
    (void)store.wait(2);
    CHECK(expect<KeyList>(store.client->list(store.range->prefix)).keys == std::vector{store.range->prefix});
    for (unsigned number = 1; number <= 2; ++number)
        expect<Released>(store.client->withdraw(store.range, owner(number)));
    CHECK(expect<KeyList>(store.client->list(store.range->prefix)).keys.empty());
}

TEST_CASE("a key has at most 1,024 places", "[shares]")
{
    Sharing const store;
    if (!store.test.subject->many_places_are_quick())
        SKIP("each claim reads all places of its key");
    // enough for a store under a sanitizer, where each claim may read every place
    constexpr std::chrono::minutes slow{1};
    std::vector<ClaimRequest> requests;
    for (unsigned number = 1; number <= 1024; ++number) {
        auto& request = requests.emplace_back(store.request(number, reader));
        request.ttl = slow;
        request.not_after = store.client->now() + slow;
    }
    for (auto const& reply : store.client->ask_together(&Backend::claim, requests))
        expect<Granted>(reply);
    CHECK_FALSE(expect<Busy>(store.ask(2000, reader)).place);
    expect<Released>(store.client->withdraw(store.range, owner(500)));
    CHECK(std::holds_alternative<Granted>(store.again(2000, reader)));
}

} // namespace tenure::conformance
