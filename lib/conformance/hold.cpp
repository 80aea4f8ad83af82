// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewal, release and withdrawal: each compares before it does anything.
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

struct Held {
    Conformance test;
    std::unique_ptr<Client> client = test.client();
    KeyRangePtr range = test.pool("pool:", 4);

    [[nodiscard]] ClaimPtr take(unsigned number, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return test.take(*client, range, number, ttl);
    }
};

} // namespace

TEST_CASE("a renewal extends the claim, and counts from before the request", "[renew][time]")
{
    Held held;
    auto const ttl = held.test.subject->short_ttl();
    auto const claim = held.take(1, ttl);
    auto const end = held.client->now() + 3 * ttl;
    while (held.client->now() < end) {
        auto const before = held.client->now();
        auto const renewed = expect<Renewed>(held.client->renew(claim, ttl));
        CHECK(renewed.since >= before - held.test.subject->renewal_lag());
        CHECK(renewed.since <= held.client->now());
        CHECK(renewed.ttl >= ttl);
        held.client->run_for(ttl / 4);
    }
    CHECK(held.test.subject->value(claim->key()) == claim->owner);
}

TEST_CASE("a key that has lapsed, was deleted or overwritten is not renewed", "[renew]")
{
    Held held;
    auto const ttl = held.test.subject->short_ttl();
    auto const lapsed = held.take(1, ttl);
    auto const deleted = held.take(2);
    auto const overwritten = held.take(3);
    held.test.subject->erase(deleted->key());
    held.test.subject->overwrite(overwritten->key(), "a thief", Conformance::long_ttl);
    held.client->run_for(ttl + held.test.subject->expiry_slack() + 50ms);
    expect<NotOwner>(held.client->renew(lapsed, Conformance::long_ttl));
    expect<NotOwner>(held.client->renew(deleted, Conformance::long_ttl));
    expect<NotOwner>(held.client->renew(overwritten, Conformance::long_ttl));
    CHECK_FALSE(held.test.subject->value(lapsed->key()));
    CHECK_FALSE(held.test.subject->value(deleted->key()));
    CHECK(held.test.subject->value(overwritten->key()) == "a thief");
}

TEST_CASE("renewals that are asked for together get their own answers", "[renew]")
{
    Held held;
    std::vector<RenewRequest> requests;
    for (unsigned i = 0; i < 4; ++i)
        requests.push_back({held.take(i), Conformance::long_ttl, held.client->now() + 10s});
    held.test.subject->erase(requests[2].claim->key());
    auto const replies = held.client->renew_together(requests);
    expect<Renewed>(replies[0]);
    expect<Renewed>(replies[1]);
    expect<NotOwner>(replies[2]);
    expect<Renewed>(replies[3]);
}

TEST_CASE("a release frees its own key, once, and nobody else's", "[release]")
{
    Held held;
    auto const mine = held.take(1);
    auto const stolen = held.take(2);
    auto const kept = held.take(3);
    held.test.subject->overwrite(stolen->key(), "a thief", Conformance::long_ttl);
    expect<Released>(held.client->release(mine));
    expect<NotOwner>(held.client->release(mine));
    expect<NotOwner>(held.client->release(stolen));
    CHECK_FALSE(held.test.subject->value(mine->key()));
    CHECK(held.test.subject->value(stolen->key()) == "a thief");
    CHECK(held.test.subject->value(kept->key()) == kept->owner);
}

TEST_CASE("releases that are asked for together get their own answers", "[release]")
{
    Held held;
    std::vector<ReleaseRequest> requests;
    for (unsigned i = 0; i < 4; ++i)
        requests.push_back({held.take(i), held.client->now() + 10s, i % 2 == 0});
    held.test.subject->overwrite(requests[1].claim->key(), "a thief", Conformance::long_ttl);
    auto const replies = held.client->ask_together(&Backend::release, requests);
    expect<Released>(replies[0]);
    expect<NotOwner>(replies[1]);
    expect<Released>(replies[2]);
    expect<Released>(replies[3]);
    CHECK(held.test.value("pool:1") == "a thief");
}

TEST_CASE("a withdrawal frees whatever bears the owner, and answers the same where nothing does", "[withdraw]")
{
    Held held;
    auto const other = held.take(1);
    auto const mine = held.take(2);
    expect<Released>(held.client->withdraw(held.range, owner(2)));
    CHECK_FALSE(held.test.subject->value(mine->key()));
    CHECK(held.test.subject->value(other->key()) == other->owner);
    expect<Released>(held.client->withdraw(held.range, owner(2)));
    expect<Released>(held.client->withdraw(held.test.pool("nobody:", 3), owner(2)));
}

TEST_CASE("handlers are called once, and never inside the call", "[handlers]")
{
    Held held;
    auto const claim = held.take(1);
    bool const examines = held.client->backend().capabilities().examines;
    int called = 0;
    held.client->on_strand([&] {
        auto& backend = held.client->backend();
        auto const limit = held.client->now() + 10s;
        backend.claim(held.test.request(*held.client, held.range, owner(2), 5s), [&](ClaimReply const&) { ++called; });
        renew_one(backend, {claim, 5s, limit}, [&](RenewReply const&) { ++called; });
        backend.inspect({held.range, limit}, [&](InspectReply const&) { ++called; });
        backend.evict({held.range, 3, "nobody", "test", limit}, [&](EvictReply const&) { ++called; });
        backend.withdraw({held.range, owner(9), limit, true}, [&](WithdrawReply const&) { ++called; });
        backend.release({claim, limit, true}, [&](ReleaseReply const&) { ++called; });
        if (examines)
            backend.examine(1s, limit, [&](Findings const&) { ++called; });
        CHECK(called == 0);
    });
    int const asked = examines ? 7 : 6;
    held.client->run_until([&] { return called >= asked; });
    held.client->run_for(50ms);
    CHECK(called == asked);
}

TEST_CASE("after shutdown every request is answered, and no work is left", "[shutdown]")
{
    Held held;
    auto const claim = held.take(1);
    int called = 0;
    held.client->on_strand([&] {
        auto& backend = held.client->backend();
        auto const limit = held.client->now() + 10s;
        renew_one(backend, {claim, 5s, limit}, [&](RenewReply const&) { ++called; });
        backend.shutdown();
        backend.claim(held.test.request(*held.client, held.range, owner(2), 5s), [&](ClaimReply const& reply) {
            ++called;
            CHECK_FALSE(std::holds_alternative<Busy>(reply));
        });
        backend.shutdown();
    });
    held.client->run_until([&] { return called == 2; });
    CHECK(held.client->idle());
}

} // namespace tenure::conformance
