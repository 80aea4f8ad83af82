// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Conformance of claims.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals;

TEST_CASE("claims take the free keys of a range in order, and are busy when none is left", "[claim]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.pool("pool:", 3);
    for (std::uint32_t i = 0; i < 3; ++i)
        CHECK(expect<Granted>(client->claim(test.request(*client, range, owner(i), Conformance::long_ttl))).index == i);
    auto const busy = expect<Busy>(client->claim(test.request(*client, range, owner(9), 5s)));
    CHECK_FALSE(busy.never_frees);
    if (busy.earliest_expiry) {
        CHECK(*busy.earliest_expiry > 0ms);
        CHECK(*busy.earliest_expiry <= Conformance::long_ttl);
    }
    // a different range is independent
    CHECK(expect<Granted>(client->claim(test.request(*client, test.pool("other:", 2), owner(9), 5s))).index == 0);
    CHECK(expect<Granted>(client->claim(test.request(*client, test.lock("pool"), owner(9), 5s))).index == 0);
}

TEST_CASE("a key that was freed in the middle is the next one to be taken", "[claim]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.pool("pool:", 4);
    std::vector<ClaimPtr> held;
    for (unsigned i = 0; i < 4; ++i)
        held.push_back(test.take(*client, range, i));
    expect<Released>(client->release(held[1]));
    CHECK(expect<Granted>(client->claim(test.request(*client, range, owner(7), 5s))).index == 1);
    CHECK(test.value("pool:1") == owner(7));
}

TEST_CASE("clients that ask at the same time never share a key", "[claim]")
{
    Conformance test;
    constexpr unsigned keys = 20;
    auto const range = test.pool("pool:", keys);
    auto const first = test.client();
    auto const second = test.client();
    std::map<std::uint32_t, std::string> holders;
    for (unsigned round = 0; round < 3; ++round) {
        std::vector<ClaimRequest> requests;
        for (unsigned i = 0; i < 5; ++i)
            requests.push_back(test.request(*first, range, owner(round * 100 + i), Conformance::long_ttl));
        auto& client = round % 2 == 0 ? *first : *second;
        for (std::size_t i = 0; auto const& reply : client.ask_together(&Backend::claim, requests))
            CHECK(holders.emplace(expect<Granted>(reply).index, requests[i++].owner).second);
    }
    for (auto const& [index, holder] : holders)
        CHECK(test.subject->value(range->key(index)) == holder);
}

TEST_CASE("a claim that is repeated finds its own key, wherever it is, and takes no other", "[claim]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.pool("pool:", 3);
    auto const earliest = client->now();
    auto const before = test.take(*client, range, 1);
    auto const mine = expect<Granted>(client->claim(test.request(*client, range, owner(2), Conformance::long_ttl)));
    REQUIRE(mine.index == 1);
    expect<Released>(client->release(before));

    // key 0 is free again, and must not be taken
    auto repeated = test.request(*client, range, owner(2), Conformance::long_ttl);
    repeated.earliest_attempt = earliest;
    auto const again = expect<Granted>(client->claim(repeated));
    CHECK(again.index == 1);
    CHECK(again.fencing_token >= mine.fencing_token);
    CHECK(again.since >= earliest);
    CHECK(again.since <= client->now());
    CHECK_FALSE(test.value("pool:0"));
}

TEST_CASE("a repeated claim that finds nothing of its own takes the first free key", "[claim]")
{
    Conformance test;
    auto const client = test.client();
    auto const range = test.pool("pool:", 2);
    expect<Granted>(client->claim(test.request(*client, range, owner(1), Conformance::long_ttl)));
    auto repeated = test.request(*client, range, owner(2), Conformance::long_ttl);
    repeated.earliest_attempt = client->now();
    CHECK(expect<Granted>(client->claim(repeated)).index == 1);
}

TEST_CASE("the ttl of a grant counts from before the request", "[claim][time]")
{
    Conformance test;
    auto const client = test.client();
    auto const before = client->now();
    auto const granted =
        expect<Granted>(client->claim(test.request(*client, test.lock("lock"), owner(1), Conformance::long_ttl)));
    CHECK(granted.since >= before);
    CHECK(granted.since <= client->now());
    CHECK(granted.ttl >= Conformance::long_ttl);
    CHECK(test.value("lock") == owner(1));
}

TEST_CASE("an expired key is free again, not before its ttl and soon after it", "[claim][time]")
{
    Conformance test;
    auto const client = test.client();
    auto const ttl = test.subject->short_ttl();
    auto const range = test.lock("lock");
    auto const granted = expect<Granted>(client->claim(test.request(*client, range, owner(1), ttl)));
    for (;;) {
        auto const asked = client->now();
        auto const reply = client->claim(test.request(*client, range, owner(2), Conformance::long_ttl));
        if (std::holds_alternative<Granted>(reply)) {
            CHECK(client->now() >= granted.since + granted.ttl);
            break;
        }
        REQUIRE(asked < granted.since + granted.ttl + test.subject->expiry_slack() + 1s);
        client->run_for(5ms);
    }
}

TEST_CASE("fencing tokens of a key rise with every grant, and are 0 where they are not asked for", "[claim][fencing]")
{
    Conformance test;
    auto const client = test.client();
    auto const other = test.client();
    auto const range = test.lock("lock");
    std::uint64_t last = 0;
    for (unsigned i = 0; i < 6; ++i) {
        auto& asker = i % 2 == 0 ? *client : *other;
        auto const ttl = i == 3 ? test.subject->short_ttl() : Conformance::long_ttl;
        auto const granted = expect<Granted>(asker.claim(test.request(asker, range, owner(i), ttl)));
        CHECK(granted.fencing_token > last);
        last = granted.fencing_token;
        if (i == 3)
            asker.run_for(granted.ttl + test.subject->expiry_slack() + 50ms); // one that expires
        else
            expect<Released>(asker.release(claim_of(range, owner(i), granted)));
    }
    auto request = test.request(*client, range, owner(8), Conformance::long_ttl);
    request.fencing = false;
    auto const unfenced = expect<Granted>(client->claim(request));
    CHECK(unfenced.fencing_token == 0);
    expect<Released>(client->release(claim_of(range, owner(8), unfenced)));
    CHECK(expect<Granted>(client->claim(test.request(*client, range, owner(9), 5s))).fencing_token > last);
}

TEST_CASE("somebody else's value under a key is passed over and left alone", "[claim]")
{
    Conformance test;
    auto const client = test.client();
    test.overwrite("pool:0", "somebody else", Conformance::long_ttl);
    auto const range = test.pool("pool:", 2);
    CHECK(expect<Granted>(client->claim(test.request(*client, range, owner(1), Conformance::long_ttl))).index == 1);
    expect<Busy>(client->claim(test.request(*client, range, owner(2), 5s)));
    CHECK(test.value("pool:0") == "somebody else");
}

TEST_CASE("a request whose time is over before it is written leaves nothing", "[claim][time]")
{
    Conformance test;
    auto const client = test.client();
    auto request = test.request(*client, test.lock("lock"), owner(1), Conformance::long_ttl);
    request.not_after = client->now() - 1ms;
    auto const reply = client->claim(request);
    // a store without a connection may grant at once; without a grant, no key may be held
    if (std::holds_alternative<Granted>(reply))
        CHECK(test.value("lock") == owner(1));
    else {
        expect_not_sent(reply);
        CHECK_FALSE(test.value("lock"));
    }
}

} // namespace tenure::conformance
