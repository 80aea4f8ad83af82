// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Hints, inspection, listing and eviction.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals;

namespace
{

[[nodiscard]] std::ptrdiff_t count(std::vector<WatchEvent> const& events, WatchEvent event)
{
    return std::count(events.begin(), events.end(), event);
}

} // namespace

TEST_CASE("a watch is in force and then hints at each release in its range, until it ends", "[watch]")
{
    Conformance test;
    auto const watcher = test.client();
    auto const holder = test.client();
    auto const range = test.pool("pool:", 2);
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    watcher->on_strand([&] {
        watch = watcher->backend().watch(range, WatchAs::observer, [&](WatchEvent event) { events.push_back(event); });
        CHECK(events.empty());
    });
    watcher->run_until([&] { return count(events, WatchEvent::in_force) == 1; });

    for (unsigned i = 1; i <= 3; ++i) {
        auto const claim = test.take(*holder, range, i, 5s);
        auto const heard = count(events, WatchEvent::hint);
        expect<Released>(holder->release(claim));
        // the news may be on its way while the holder knows already that it has released
        watcher->run_until([&] {
            holder->run_for(1ms);
            return count(events, WatchEvent::hint) > heard;
        });
    }
    watcher->run_for(50ms); // the keys that were announced more than once
    watcher->on_strand([&] { watch.reset(); });
    auto const heard = events.size();
    expect<Released>(holder->release(test.take(*holder, range, 9, 5s)));
    watcher->run_for(100ms);
    CHECK(events.size() == heard);
}

TEST_CASE("a withdrawal is a release for those who watch", "[watch]")
{
    Conformance test;
    auto const watcher = test.client();
    auto const holder = test.client();
    auto const range = test.lock("lock");
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    watcher->on_strand([&] {
        watch = watcher->backend().watch(range, WatchAs::observer, [&](WatchEvent event) { events.push_back(event); });
    });
    watcher->run_until([&] { return count(events, WatchEvent::in_force) == 1; });
    expect<Granted>(holder->claim(test.request(*holder, range, owner(1), 5s)));
    auto const heard = count(events, WatchEvent::hint);
    expect<Released>(holder->withdraw(range, owner(1)));
    watcher->run_until([&] { return count(events, WatchEvent::hint) > heard; });
    watcher->on_strand([&] { watch.reset(); });
}

TEST_CASE("a store that can be used is ready before anything else was asked, and again", "[ready]")
{
    Conformance test;
    auto const client = test.client();
    expect<Ready>(client->ready());
    expect<Ready>(client->ready());
}

TEST_CASE("inspecting tells who holds what, for how long and with which token", "[inspect]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.pool("pool:", 3);
    auto const first = expect<Granted>(client->claim(test.request(*client, range, owner(1), Conformance::long_ttl)));
    test.overwrite("pool:2", "somebody else", 20s);
    auto const states = expect<std::vector<KeyState>>(client->inspect(range));
    auto const of = [&](std::uint32_t index) {
        auto const found = std::ranges::find(states, index, &KeyState::index);
        return found == states.end() ? KeyState{.index = index} : *found;
    };
    CHECK(of(0).kind == KeyState::Kind::held);
    CHECK(of(0).owner == owner(1));
    CHECK(of(0).fencing_token == (test.subject->tells_tokens() ? first.fencing_token : 0));
    REQUIRE(of(0).remaining);
    CHECK(*of(0).remaining > 0ms);
    CHECK(*of(0).remaining <= Conformance::long_ttl + test.subject->expiry_slack());
    CHECK(of(1).kind == KeyState::Kind::free);
    CHECK(of(2).kind == KeyState::Kind::held);
    CHECK(of(2).owner == "somebody else");
}

TEST_CASE("names only shows which keys of a pool are free", "[inspect]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.pool("pool:", 12);
    auto const taken = [&] {
        auto const states = expect<std::vector<KeyState>>(client->inspect(range, true));
        std::vector<std::uint32_t> numbers;
        for (std::uint32_t index = 0; index < states.size(); ++index) {
            CHECK(states[index].index == index);
            if (states[index].kind != KeyState::Kind::free)
                numbers.push_back(index);
        }
        CHECK(states.size() == range->count);
        return numbers;
    };
    CHECK(taken().empty());
    auto const first = test.take(*client, range, 1, 20s);
    expect<Granted>(client->claim(test.request(*client, range, owner(2), 20s)));
    test.overwrite("pool:11", "another program", 20s);
    CHECK(taken() == std::vector<std::uint32_t>{0, 1, 11});
    expect<Released>(client->release(first));
    CHECK(taken() == std::vector<std::uint32_t>{1, 11});
    // a pool whose prefix begins with this one's: its keys are keys of both
    expect<Granted>(client->claim(test.request(*client, test.pool("pool:1", 4), owner(3), 20s)));
    CHECK(taken() == std::vector<std::uint32_t>{1, 10, 11});
}

TEST_CASE("evicting replaces only the owner that was seen, and the key stays taken for the rest of its ttl", "[evict]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.lock("lock");
    auto const ttl = test.subject->short_ttl() * 2;
    auto const granted = expect<Granted>(client->claim(test.request(*client, range, owner(1), ttl)));
    auto const claim = claim_of(range, owner(1), granted);
    expect<NotOwner>(client->evict(range, 0, owner(2)));
    CHECK(test.value("lock") == owner(1));
    auto const evicted = expect<Evicted>(client->evict(range, 0, owner(1)));
    // etcd gives it the whole ttl anew, and a second to spare
    if (evicted.remaining)
        CHECK(*evicted.remaining <= granted.ttl + 1s);
    // the former holder detects the eviction, and no client gets the key before the holder's validity ends
    expect<NotOwner>(client->renew(claim, ttl));
    expect<Busy>(client->claim(test.request(*client, range, owner(3), 5s)));
    expect<NotOwner>(client->release(claim));
    client->run_until(
        [&] { return std::holds_alternative<Granted>(client->claim(test.request(*client, range, owner(3), 5s))); },
        ttl + test.subject->expiry_slack() + 2s);
    CHECK(client->now() >= granted.since + granted.ttl);
}

TEST_CASE("a listing has all held keys that begin with the prefix", "[list]")
{
    Conformance test;
    auto const client = test.client();
    if (client->backend().capabilities().no_list != nullptr)
        SKIP(client->backend().capabilities().no_list);
    auto const pool = test.pool("list*[:", 12);
    auto const lock = test.lock("lists");
    for (unsigned number = 1; number <= 11; ++number)
        expect<Granted>(client->claim(test.request(*client, pool, owner(number), 5s)));
    expect<Granted>(client->claim(test.request(*client, lock, owner(20), 5s)));
    auto const holds = [](KeyList const& list, std::string const& key) {
        return std::ranges::find(list.keys, key) != list.keys.end();
    };
    auto const of_pool = expect<KeyList>(client->list(pool->prefix));
    CHECK_FALSE(of_pool.more);
    for (std::uint32_t index = 0; index < 11; ++index)
        CHECK(holds(of_pool, pool->key(index)));
    CHECK_FALSE(holds(of_pool, lock->key(0)));
    auto const of_slot = expect<KeyList>(client->list(pool->key(1)));
    CHECK(holds(of_slot, pool->key(1)));
    CHECK(holds(of_slot, pool->key(10)));
    CHECK_FALSE(holds(of_slot, pool->key(2)));
    CHECK(holds(expect<KeyList>(client->list(lock->key(0))), lock->key(0)));
    CHECK(expect<KeyList>(client->list(pool->prefix + "none")).keys.empty());
}

} // namespace tenure::conformance
