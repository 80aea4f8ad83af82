// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that are held in places: how places end, and other kinds of the same key.
#include "shares.hpp"

#include <variant>
#include <vector>

namespace tenure::conformance
{

TEST_CASE("a waiting place lapses, and its owner then enters at the end", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    auto const lapsing = store.wait(2, fair, store.brief);
    auto const third = store.wait(3);
    auto const busy = expect<Busy>(store.again(3));
    // a store may not report it
    if (busy.earliest_expiry)
        CHECK(*busy.earliest_expiry <= store.brief + store.test.subject->expiry_slack());
    store.let_lapse(store.brief);
    auto const again = Sharing::place_of(store.again(2));
    CHECK(again.number > third.number);
    CHECK(again.number != lapsing.number);
    CHECK(again.ahead == 2);
    expect<Released>(store.client->release(first));
    CHECK_FALSE(store.holds(2));
    CHECK(store.holds(3));
}

TEST_CASE("a holder that lapses is followed, and gets neither its renewal nor its number back", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1, fair, store.brief);
    auto const second = store.wait(2);
    store.let_lapse(store.brief);
    expect<NotOwner>(store.client->renew(first, Conformance::long_ttl));
    auto const late = Sharing::place_of(store.again(1));
    CHECK(late.number > second.number);
    CHECK(expect<Granted>(store.again(2)).fencing_token == second.number);
    expect<NotOwner>(store.client->renew(first, Conformance::long_ttl));
}

TEST_CASE("a holder renews its place, and a waiter has nothing to renew", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1, reader, store.brief);
    auto const renewed = expect<Renewed>(store.client->renew(first, Conformance::long_ttl));
    auto const waits = store.wait(2, writer);
    auto const waiting =
        claim_of(store.range, owner(2), Granted{0, waits.number, 1s, store.client->now(), waits.handle});
    expect<NotOwner>(store.client->renew(waiting, Conformance::long_ttl));
    // a store may be unable to change the ttl
    if (renewed.ttl > store.brief) {
        store.let_lapse(store.brief);
        CHECK_FALSE(store.holds(2, writer));
        expect<Renewed>(store.client->renew(first, store.brief));
    }
    store.let_lapse(store.brief);
    CHECK(store.holds(2, writer));
}

TEST_CASE("a withdrawn place is gone, wherever it stands", "[shares]")
{
    Sharing const store;
    (void)store.hold(1, permits(1, 2));
    auto const large = store.wait(2, permits(2, 2));
    auto const third = store.wait(3, permits(1, 2));
    auto const fourth = store.wait(4, permits(1, 2));
    CHECK(large.number < third.number);
    SECTION("the first waiter's: smaller ones behind it hold")
    {
        expect<Released>(store.client->withdraw(store.range, owner(2)));
        CHECK(expect<Granted>(store.again(3, permits(1, 2))).fencing_token == third.number);
        CHECK_FALSE(store.holds(4, permits(1, 2)));
    }
    SECTION("one in the middle")
    {
        expect<Released>(store.client->withdraw(store.range, owner(3)));
        CHECK(Sharing::place_of(store.again(4, permits(1, 2))).ahead == 2);
        expect<Released>(store.client->withdraw(store.range, owner(2)));
        CHECK(expect<Granted>(store.again(4, permits(1, 2))).fencing_token == fourth.number);
    }
    SECTION("a holder's")
    {
        expect<Released>(store.client->withdraw(store.range, owner(1)));
        CHECK(expect<Granted>(store.again(2, permits(2, 2))).fencing_token == large.number);
    }
    SECTION("of an owner that has none")
    {
        expect<Released>(store.client->withdraw(store.range, owner(9)));
        CHECK(store.state().places.size() == 4);
    }
}

TEST_CASE("a key is free once its last place is gone", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    (void)store.wait(2);
    expect<Released>(store.client->withdraw(store.range, owner(2)));
    expect<Released>(store.client->release(first));
    expect<NotOwner>(store.client->release(first));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::free);
    CHECK(state.places.empty());
    auto const plain = store.test.take(*store.client, named_key(store.range->prefix), 3);
    expect<Released>(store.client->release(plain));
}

TEST_CASE("an evicted holder loses its lease, and its place stays until it lapses", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1, permits(1, 2), store.brief);
    auto const second = store.hold(2, permits(1, 2), store.brief);
    auto const third = store.wait(3, permits(1, 2));
    // by one person: both still count
    expect<Evicted>(store.client->evict(store.range, 0, owner(1)));
    expect<Evicted>(store.client->evict(store.range, 0, owner(2)));
    CHECK_FALSE(store.holds(3, permits(1, 2)));
    expect<NotOwner>(store.client->renew(first, store.brief));
    expect<NotOwner>(store.client->release(second));
    auto const state = store.state();
    REQUIRE(state.places.size() == 3);
    CHECK(state.owner == "evicted/operator");
    CHECK(state.places[0].owner == "evicted/operator");
    CHECK(state.places[1].owner == "evicted/operator");
    store.let_lapse(store.brief);
    CHECK(expect<Granted>(store.again(3, permits(1, 2))).fencing_token == third.number);
    expect<NotOwner>(store.client->evict(store.range, 0, owner(1)));
}

TEST_CASE("an evicted waiter has no place, and enters at the end", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    (void)store.wait(2);
    auto const third = store.wait(3);
    expect<Evicted>(store.client->evict(store.range, 0, owner(2)));
    CHECK(store.state().places.size() == 2);
    CHECK(Sharing::place_of(store.again(2)).number > third.number);
    expect<Released>(store.client->release(first));
    CHECK(store.holds(3));
}

TEST_CASE("a detached place is kept for its time", "[shares]")
{
    Sharing const store;
    if (store.client->backend().capabilities().no_detach != nullptr)
        SKIP(store.client->backend().capabilities().no_detach);
    auto const first = store.hold(1);
    auto const second = store.wait(2);
    ReleaseRequest const request{first, store.client->now() + 10s, true, store.brief};
    expect<Released>(store.client->ask_together(&Backend::release, std::vector{request}).front());
    expect<Released>(store.client->ask_together(&Backend::release, std::vector{request}).front());
    expect<NotOwner>(store.client->renew(first, Conformance::long_ttl));
    CHECK_FALSE(store.holds(2));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::kept);
    CHECK(state.owner == owner(1));
    expect<NotOwner>(store.client->evict(store.range, 0, owner(1)));
    store.let_lapse(store.brief);
    CHECK(expect<Granted>(store.again(2)).fencing_token == second.number);
}

TEST_CASE("numbers of places and fencing tokens of plain claims of a key are one sequence", "[shares]")
{
    Sharing const store;
    auto const plain_range = named_key(store.range->prefix);
    auto const plain = store.test.take(*store.client, plain_range, 1);
    expect<Released>(store.client->release(plain));
    auto const place = store.hold(2);
    CHECK(place->fencing_token > plain->fencing_token);
    expect<Released>(store.client->release(place));
    auto const later = store.test.take(*store.client, plain_range, 3);
    CHECK(later->fencing_token > place->fencing_token);
    expect<Released>(store.client->release(later));
}

TEST_CASE("plain claims and places of one key exclude each other, and leave each other alone", "[shares]")
{
    Sharing const store;
    auto const plain_range = named_key(store.range->prefix);
    SECTION("the plain claim came first")
    {
        auto const plain = store.test.take(*store.client, plain_range, 1);
        auto const busy = expect<Busy>(store.ask(2));
        CHECK_FALSE(busy.place);
        if (busy.earliest_expiry)
            CHECK(*busy.earliest_expiry <= Conformance::long_ttl);
        expect<Released>(store.client->withdraw(store.range, owner(2)));
        CHECK(store.test.value("shared") == owner(1));
        expect<Renewed>(store.client->renew(plain, Conformance::long_ttl));
        expect<Released>(store.client->release(plain));
        CHECK(store.holds(2));
    }
    SECTION("the place came first")
    {
        if (!store.test.subject->plain_claims_see_places())
            return;
        auto const place = store.hold(1);
        auto const reply =
            store.client->claim(store.test.request(*store.client, plain_range, owner(2), Conformance::long_ttl));
        CHECK(std::holds_alternative<Busy>(reply));
        expect<Released>(store.client->withdraw(plain_range, owner(2)));
        expect<Renewed>(store.client->renew(place, Conformance::long_ttl));
        CHECK(store.state().places.size() == 1);
        expect<Released>(store.client->release(place));
    }
}

} // namespace tenure::conformance
