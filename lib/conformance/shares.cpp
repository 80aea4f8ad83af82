// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that are held in places: fair locks, read-write locks and semaphores.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals;

namespace
{

constexpr Share fair{};
constexpr Share reader{.weight = 1, .capacity = Share::all};
constexpr Share writer{.weight = Share::all, .capacity = Share::all};

constexpr Share permits(std::uint32_t weight, std::uint32_t of)
{
    return {.weight = weight, .capacity = of};
}

struct Sharing {
    Conformance test;
    std::unique_ptr<Client> client = test.client();
    KeyRangePtr range = shared_key(test.key("shared"));
    std::chrono::milliseconds brief = test.subject->short_ttl();

    Sharing()
    {
        if (client->backend().capabilities().no_shares != nullptr)
            SKIP(client->backend().capabilities().no_shares);
    }

    [[nodiscard]] ClaimRequest
    request(unsigned number, Share const& share, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        auto request = test.request(*client, range, owner(number), ttl);
        request.share = share;
        request.waits = Waits::in_line;
        return request;
    }
    /** The first claim of an owner. */
    [[nodiscard]] ClaimReply
    ask(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return client->claim(request(number, share, ttl));
    }
    /** A later claim of an owner, who may have a place. */
    [[nodiscard]] ClaimReply
    again(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        auto later = request(number, share, ttl);
        later.earliest_attempt = client->now() - 1s;
        return client->claim(later);
    }
    [[nodiscard]] ClaimReply try_once(unsigned number, Share const& share = fair) const
    {
        auto once = request(number, share);
        once.waits = Waits::no;
        return client->claim(once);
    }
    /** The claim of a place that holds. */
    [[nodiscard]] ClaimPtr
    hold(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return claim_of(range, owner(number), expect<Granted>(ask(number, share, ttl)));
    }
    /** The place of an owner that has to wait. */
    [[nodiscard]] InLine
    wait(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return place_of(ask(number, share, ttl));
    }
    [[nodiscard]] static InLine place_of(ClaimReply const& reply)
    {
        auto const place = expect<Busy>(reply).place;
        REQUIRE(place);
        return *place;
    }
    [[nodiscard]] bool holds(unsigned number, Share const& share = fair) const
    {
        return std::holds_alternative<Granted>(again(number, share));
    }
    [[nodiscard]] KeyState state() const { return expect<std::vector<KeyState>>(client->inspect(range)).at(0); }
    /** Waits until a place with this ttl that was renewed before now has lapsed. */
    void let_lapse(std::chrono::milliseconds ttl) const { client->run_for(ttl + test.subject->expiry_slack() + 50ms); }
};

/** Another client that waits for the key, and the messages that it gets. */
struct Listener {
    explicit Listener(Sharing const& sharing)
        : client(sharing.test.client())
    {
        client->on_strand([&] {
            watch = client->backend().watch(sharing.range, WatchAs::waiter, [this](WatchNews news) {
                in_force = in_force || news.event == WatchEvent::in_force;
                if (news.event != WatchEvent::our_turn)
                    return;
                told = true;
                numbers.insert(numbers.end(), news.held.begin(), news.held.end());
            });
        });
        client->run_until([this] { return in_force; });
    }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    ~Listener()
    {
        client->on_strand([this] { watch.reset(); });
    }

    [[nodiscard]] InLine wait(Sharing const& sharing, unsigned number, Share const& share) const
    {
        return Sharing::place_of(client->claim(sharing.request(number, share)));
    }

    std::unique_ptr<Client> client;
    std::unique_ptr<Watch> watch;
    bool in_force = false;
    bool told = false;
    std::vector<std::uint64_t> numbers;
};

} // namespace

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

TEST_CASE("a waiting place lapses, and its owner then enters at the end", "[shares]")
{
    Sharing const store;
    auto const first = store.hold(1);
    auto const lapsing = store.wait(2, fair, store.brief);
    auto const third = store.wait(3);
    auto const busy = expect<Busy>(store.again(3));
    REQUIRE(busy.earliest_expiry);
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
    expect<Renewed>(store.client->renew(first, Conformance::long_ttl));
    auto const waits = store.wait(2, writer);
    auto const waiting =
        claim_of(store.range, owner(2), Granted{0, waits.number, 1s, store.client->now(), waits.handle});
    expect<NotOwner>(store.client->renew(waiting, Conformance::long_ttl));
    store.let_lapse(store.brief);
    CHECK_FALSE(store.holds(2, writer));
    expect<Renewed>(store.client->renew(first, store.brief));
    store.let_lapse(store.brief);
    CHECK(store.holds(2, writer));
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
    CHECK(store.holds(2, reader));
    CHECK(store.holds(3, reader));
    CHECK_FALSE(store.holds(4, writer));
    CHECK(std::ranges::find(listener.numbers, behind.number) == listener.numbers.end());
}

TEST_CASE("a withdrawal and an eviction tell whom they let hold", "[shares]")
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
    CHECK(expect<Granted>(store.again(3, permits(1, 2))).fencing_token == third.number);
}

TEST_CASE("a claim that finds a lapsed place tells the others whose turn it is", "[shares]")
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
    CHECK(store.holds(2));
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
        CHECK(busy.earliest_expiry);
        expect<Released>(store.client->withdraw(store.range, owner(2)));
        CHECK(store.test.value("shared") == owner(1));
        expect<Renewed>(store.client->renew(plain, Conformance::long_ttl));
        expect<Released>(store.client->release(plain));
        CHECK(store.holds(2));
    }
    SECTION("the place came first")
    {
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

TEST_CASE("a key has at most 1,024 places", "[shares]")
{
    Sharing const store;
    std::vector<ClaimRequest> requests;
    for (unsigned number = 1; number <= 1024; ++number)
        requests.push_back(store.request(number, reader));
    for (auto const& reply : store.client->ask_together(&Backend::claim, requests))
        expect<Granted>(reply);
    CHECK_FALSE(expect<Busy>(store.ask(2000, reader)).place);
    expect<Released>(store.client->withdraw(store.range, owner(500)));
    CHECK(std::holds_alternative<Granted>(store.again(2000, reader)));
}

} // namespace tenure::conformance
