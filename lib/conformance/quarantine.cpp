// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SlotPoolConfig::reuse_after: a key that was held rests after its release or expiry.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals;

namespace
{

struct Resting : OneKey {
    std::chrono::milliseconds ttl = test.subject->short_ttl();

    Resting()
    {
        rest = ttl;
        if (client->backend().capabilities().no_quarantine != nullptr)
            SKIP(client->backend().capabilities().no_quarantine);
    }

    /** The claim as the engine keeps it: a claim that was handed out is quarantined, an unwanted one is not. */
    [[nodiscard]] std::shared_ptr<Claim>
    take(unsigned number, std::chrono::milliseconds for_ttl, bool held = true) const
    {
        auto const granted = expect<Granted>(client->claim(request(number, for_ttl)));
        CHECK(granted.ttl == for_ttl);
        auto claim = std::make_shared<Claim>();
        claim->range = range;
        claim->owner = owner(number);
        claim->index = granted.index;
        claim->fencing_token = granted.fencing_token;
        claim->handle = granted.handle;
        claim->reuse_after = held ? rest : 0ms;
        return claim;
    }
    [[nodiscard]] std::chrono::milliseconds slack() const { return test.subject->expiry_slack() + 2s; }
};

} // namespace

TEST_CASE("a key that is released rests, is shown as resting, and is free when its rest is over", "[quarantine]")
{
    Resting store;
    auto const claim = store.take(1, Conformance::long_ttl);
    auto const before = store.client->now();
    expect<Released>(store.client->release(claim));
    auto const released = store.client->now();
    CHECK_FALSE(store.is_granted(2));
    auto const state = expect<std::vector<KeyState>>(store.client->inspect(store.range)).at(0);
    CHECK(state.kind == KeyState::Kind::resting);
    CHECK(state.owner == owner(1));
    REQUIRE(state.remaining);
    CHECK(*state.remaining <= store.rest + store.test.subject->expiry_slack());
    // the former holder has lost its claim
    expect<NotOwner>(store.client->renew(claim, Conformance::long_ttl));
    expect<NotOwner>(store.client->release(claim));
    expect<Released>(store.client->withdraw(store.range, owner(1)));
    CHECK_FALSE(store.is_granted(2));
    auto const granted = store.granted_at(2, store.rest + store.slack());
    CHECK(granted - before >= store.rest - store.rounding);
    CHECK(granted - released <= store.rest + store.test.subject->expiry_slack() + 1s);
}

TEST_CASE("a key whose claim lapses rests after its ttl", "[quarantine]")
{
    Resting store;
    auto const before = store.client->now();
    (void)store.take(1, store.ttl);
    auto const granted = store.granted_at(2, store.ttl + store.rest + store.slack());
    // a store may have begun to count the ttl before it was asked
    CHECK(granted - before >= store.ttl + store.rest - store.test.subject->head_start() - store.rounding);
}

TEST_CASE("renewals keep the rest behind the ttl", "[quarantine]")
{
    Resting store;
    auto const claim = store.take(1, store.ttl);
    store.client->run_for(store.ttl / 2);
    auto const before = store.client->now();
    CHECK(expect<Renewed>(store.client->renew(claim, store.ttl)).ttl == store.ttl);
    auto const granted = store.granted_at(2, store.ttl + store.rest + store.slack());
    CHECK(granted - before >= store.ttl + store.rest - store.test.subject->renewal_lag() - store.rounding);
}

TEST_CASE("a claim that nobody held is given back without rest", "[quarantine]")
{
    Resting store;
    store.rest = 20s;
    expect<Released>(store.client->release(store.take(1, Conformance::long_ttl, false)));
    CHECK_FALSE(store.test.value("pool:0"));
    (void)store.take(2, Conformance::long_ttl, false);
    expect<Released>(store.client->withdraw(store.range, owner(2)));
    CHECK_FALSE(store.test.value("pool:0"));
    CHECK(store.is_granted(3));
}

TEST_CASE("a withdrawal lets a key rest that may have been held", "[quarantine]")
{
    Resting store;
    store.rest = 20s;
    (void)store.take(1, Conformance::long_ttl);
    std::optional<WithdrawReply> reply;
    store.client->on_strand([&] {
        WithdrawRequest request{store.range, owner(1), store.client->now() + 10s, true, store.rest};
        store.client->backend().withdraw(std::move(request), [&](WithdrawReply answer) { reply = std::move(answer); });
    });
    store.client->run_until([&] { return reply.has_value(); });
    // by the owner alone some stores cannot tell a claim of their own from one without an answer, and revoke that
    expect<Released>(*reply);
    CHECK(expect<std::vector<KeyState>>(store.client->inspect(store.range)).at(0).kind == KeyState::Kind::resting);
}

TEST_CASE("withdrawing the value of a resting key ends its quarantine", "[quarantine]")
{
    Resting store;
    store.rest = 20s;
    expect<Released>(store.client->release(store.take(1, Conformance::long_ttl)));
    CHECK_FALSE(store.is_granted(2));
    expect<Released>(store.client->withdraw(store.range, "resting/" + owner(1)));
    CHECK(store.is_granted(2));
}

TEST_CASE("an evicted key rests after its former holder's ttl", "[quarantine]")
{
    Resting store;
    auto const before = store.client->now();
    auto const claim = store.take(1, store.ttl);
    expect<Evicted>(store.client->evict(store.range, 0, owner(1)));
    expect<NotOwner>(store.client->release(claim));
    auto const granted = store.granted_at(2, store.ttl + store.rest + store.slack() + 1s);
    CHECK(granted - before >= store.ttl + store.rest - store.rounding);
}

TEST_CASE("a release that is to leave a rest touches nobody else's key", "[quarantine]")
{
    Resting store;
    auto const claim = store.take(1, Conformance::long_ttl);
    store.test.overwrite("pool:0", "a thief", Conformance::long_ttl);
    expect<NotOwner>(store.client->release(claim));
    CHECK(store.test.value("pool:0") == "a thief");
}

TEST_CASE("releases of keys that rest and of keys that do not get their own answers", "[quarantine]")
{
    Resting store;
    store.rest = 20s;
    store.range = store.test.pool("many:", 4);
    std::vector<ReleaseRequest> requests;
    for (unsigned i = 0; i < 4; ++i)
        requests.push_back({store.take(i, Conformance::long_ttl, i % 2 == 0), store.client->now() + 10s, i < 2});
    for (auto const& reply : store.client->ask_together(&Backend::release, requests))
        expect<Released>(reply);
    auto const states = expect<std::vector<KeyState>>(store.client->inspect(store.range));
    for (unsigned i = 0; i < 4; ++i)
        CHECK(states.at(i).kind == (i % 2 == 0 ? KeyState::Kind::resting : KeyState::Kind::free));
}

} // namespace tenure::conformance
