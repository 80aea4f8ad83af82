// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReleaseRequest::keep_for: a key that its holder leaves to expire.
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

struct Keeping : OneKey {
    std::chrono::milliseconds brief = test.subject->short_ttl();

    Keeping()
    {
        if (client->backend().capabilities().no_detach != nullptr)
            SKIP(client->backend().capabilities().no_detach);
    }

    [[nodiscard]] ClaimPtr take(unsigned number, std::chrono::milliseconds ttl) const
    {
        return test.take(*client, range, number, ttl);
    }
    [[nodiscard]] ReleaseReply detach(ClaimPtr const& claim, std::chrono::milliseconds keep_for) const
    {
        ReleaseRequest const request{claim, client->now() + 10s, true, keep_for};
        return client->ask_together(&Backend::release, std::vector{request}).front();
    }
    [[nodiscard]] KeyState state() const { return expect<std::vector<KeyState>>(client->inspect(range)).at(0); }
    [[nodiscard]] std::chrono::milliseconds slack() const { return test.subject->expiry_slack() + 1s; }
};

} // namespace

TEST_CASE("a key that is left to expire sooner than its ttl is kept until then, and is free then", "[detach]")
{
    Keeping const store;
    auto const claim = store.take(1, Conformance::long_ttl);
    auto const before = store.client->now();
    expect<Released>(store.detach(claim, store.brief));
    auto const detached = store.client->now();
    CHECK(store.test.value("pool:0") == "kept/" + owner(1));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::kept);
    CHECK(state.owner == owner(1));
    REQUIRE(state.remaining);
    CHECK(*state.remaining <= store.brief + store.test.subject->expiry_slack());
    CHECK_FALSE(store.is_granted(2));
    auto const granted = store.granted_at(2, store.brief + store.slack());
    CHECK(granted - before >= store.brief - store.rounding);
    CHECK(granted - detached <= store.brief + store.slack());
}

TEST_CASE("a key that is left to expire later than its ttl is kept beyond it", "[detach]")
{
    Keeping const store;
    auto const claim = store.take(1, store.brief);
    expect<Released>(store.detach(claim, Conformance::long_ttl));
    store.client->run_for(store.brief + store.slack());
    CHECK_FALSE(store.is_granted(2));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::kept);
    REQUIRE(state.remaining);
    CHECK(*state.remaining > Conformance::long_ttl / 2);
}

TEST_CASE("a key that is left to expire without a time keeps the ttl that it has", "[detach]")
{
    Keeping const store;
    auto const before = store.client->now();
    auto const claim = store.take(1, store.brief);
    auto const taken = store.client->now();
    expect<Released>(store.detach(claim, 0ms));
    CHECK(store.state().kind == KeyState::Kind::kept);
    CHECK_FALSE(store.is_granted(2));
    auto const granted = store.granted_at(2, store.brief + store.slack());
    // a store may have begun to count the ttl before it was asked
    CHECK(granted - before >= store.brief - store.test.subject->head_start() - store.rounding);
    CHECK(granted - taken <= store.brief + store.slack());
}

TEST_CASE("nothing that comes late shortens the time of a kept key, or gives the key back", "[detach]")
{
    Keeping const store;
    auto const claim = store.take(1, Conformance::long_ttl);
    expect<Released>(store.detach(claim, Conformance::long_ttl));
    expect<NotOwner>(store.client->renew(claim, store.brief));
    expect<NotOwner>(store.client->release(claim));
    // an owner whose claims all have their answers
    expect<Released>(store.client->withdraw(store.range, owner(1)));
    expect<NotOwner>(store.client->evict(store.range, 0, owner(1)));
    auto again = store.test.request(*store.client, store.range, owner(1), store.brief);
    again.earliest_attempt = store.client->now() - 1s;
    CHECK_FALSE(std::holds_alternative<Granted>(store.client->claim(again)));
    CHECK(store.test.value("pool:0") == "kept/" + owner(1));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::kept);
    REQUIRE(state.remaining);
    CHECK(*state.remaining > Conformance::long_ttl / 2);
}

TEST_CASE("withdrawing the value of a kept key frees it before its time", "[detach]")
{
    Keeping const store;
    expect<Released>(store.detach(store.take(1, Conformance::long_ttl), Conformance::long_ttl));
    expect<Released>(store.client->withdraw(store.range, "kept/" + owner(2)));
    CHECK(store.state().kind == KeyState::Kind::kept);
    expect<Released>(store.client->withdraw(store.range, "kept/" + owner(1)));
    CHECK(store.is_granted(2));
}

TEST_CASE("a detachment that is asked again is done, and does not begin the time anew", "[detach]")
{
    Keeping const store;
    auto const claim = store.take(1, Conformance::long_ttl);
    expect<Released>(store.detach(claim, Conformance::long_ttl));
    expect<Released>(store.detach(claim, 2 * Conformance::long_ttl));
    expect<Released>(store.detach(claim, store.brief));
    auto const state = store.state();
    CHECK(state.kind == KeyState::Kind::kept);
    REQUIRE(state.remaining);
    CHECK(*state.remaining <= Conformance::long_ttl + store.test.subject->expiry_slack());
    CHECK(*state.remaining > Conformance::long_ttl / 2);
}

TEST_CASE("a detachment touches nobody else's key", "[detach]")
{
    Keeping const store;
    auto const claim = store.take(1, Conformance::long_ttl);
    SECTION("another owner's")
    {
        store.test.overwrite("pool:0", "a thief", Conformance::long_ttl);
        expect<NotOwner>(store.detach(claim, store.brief));
        CHECK(store.test.value("pool:0") == "a thief");
    }
    SECTION("another owner's, by which it was left to expire")
    {
        store.test.overwrite("pool:0", "kept/" + owner(2), Conformance::long_ttl);
        expect<NotOwner>(store.detach(claim, store.brief));
        CHECK(store.test.value("pool:0") == "kept/" + owner(2));
    }
    SECTION("none: it is gone")
    {
        store.test.subject->erase(store.test.key("pool:0"));
        expect<NotOwner>(store.detach(claim, store.brief));
        CHECK_FALSE(store.test.value("pool:0"));
    }
}

TEST_CASE("a key that was renewed is left to expire as any other", "[detach]")
{
    Keeping const store;
    auto const claim = store.take(1, store.brief);
    // to another ttl: some stores move the key for that
    expect<Renewed>(store.client->renew(claim, Conformance::long_ttl));
    SECTION("for a time")
    {
        expect<Released>(store.detach(claim, store.brief));
        (void)store.granted_at(2, store.brief + store.slack());
    }
    SECTION("with the ttl that it has")
    {
        expect<Released>(store.detach(claim, 0ms));
        store.client->run_for(store.brief + store.slack());
        CHECK_FALSE(store.is_granted(2));
    }
}

TEST_CASE("the holder after a kept key has a greater fencing token", "[detach]")
{
    Keeping const store;
    auto const first = store.take(1, Conformance::long_ttl);
    expect<Released>(store.detach(first, store.brief));
    (void)store.granted_at(2, store.brief + store.slack());
    auto again = store.test.request(*store.client, store.range, owner(2), Conformance::long_ttl);
    again.earliest_attempt = store.client->now() - 1s;
    CHECK(expect<Granted>(store.client->claim(again)).fencing_token > first->fencing_token);
}

} // namespace tenure::conformance
