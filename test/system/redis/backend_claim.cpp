// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

TEST_CASE_METHOD(
    LiveBackendTest, "a claim gives its key the ttl, and busy says when the first key expires", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 2);
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(expect<Granted>(live.claim(range, owner(i))).ttl == 5s);
        auto const left = client.pttl("pool:" + std::to_string(i));
        CHECK(left > 3000);
        CHECK(left <= 5000);
    }
    client.call("PEXPIRE", "pool:1", 800);
    auto const busy = expect<Busy>(live.claim(range, owner(9)));
    REQUIRE(busy.earliest_expiry);
    CHECK(*busy.earliest_expiry <= 800ms);
    CHECK(*busy.earliest_expiry > 0ms);
}

TEST_CASE_METHOD(
    LiveBackendTest, "every number of held keys at the front leaves the next one to be found", "[redis][backend]")
{
    auto const fencing = GENERATE(true, false);
    auto const range = numbered_keys("pool:", 150);
    for (unsigned held = 0; held < 150; ++held)
        REQUIRE(expect<Granted>(live.claim(range, owner(held), fencing)).index == held);
    static_cast<void>(expect<Busy>(live.claim(range, owner(150), fencing)));
    for (unsigned const gap : {149U, 128U, 127U, 64U, 63U, 1U, 0U}) {
        client.call("DEL", "pool:" + std::to_string(gap));
        REQUIRE(expect<Granted>(live.claim(range, owner(200 + gap), fencing)).index == gap);
    }
}

TEST_CASE_METHOD(
    LiveBackendTest, "fencing tokens rise, also where the counter is lost or ahead of the clock", "[redis][backend]")
{
    // a transaction, the script for a pool, and the script for later attempts
    auto const [range, earlier] = GENERATE(table<KeyRangePtr, bool>(
        {{named_key("job"), false}, {numbered_keys("{jobs}:", 2), false}, {named_key("{jobs}:nightly"), true}}));
    auto const key = range->key(0);
    std::string const fence = "tenure:fence";
    std::uint64_t last = 0;
    auto const next = [&] {
        ClaimRequest request{range, owner(1), 5s, live.now() + 10s, true, std::nullopt};
        if (earlier)
            request.earliest_attempt = live.now() - 1s;
        auto const token = expect<Granted>(live.claim(std::move(request))).fencing_token;
        CHECK(token > last);
        CHECK(client.get(fence) == std::to_string(token));
        // without ttl: it must not forget
        CHECK(client.pttl(fence) == -1);
        last = token;
        client.call("DEL", key);
    };
    next();
    auto const time = client.call("TIME");
    auto const now_us = std::stoull(time.elements.at(0).text) * 1'000'000 + std::stoull(time.elements.at(1).text);
    CHECK(last <= now_us);
    CHECK(last > now_us - 10'000'000);
    next();
    client.call("DEL", fence);
    next();
    // an earlier server's clock was an hour ahead
    client.call("SET", fence, now_us + 3'600'000'000);
    next();
    CHECK(last == now_us + 3'600'000'001);
    next();
    // beyond what a double can count
    client.call("SET", fence, "9007199254740993");
    next();
    CHECK(last == 9007199254740994);
}

TEST_CASE_METHOD(
    LiveBackendTest, "claims of one turn share a transaction and a token, and none of them costs another",
    "[redis][backend]")
{
    client.call("SET", "lock-3", "python", "PX", 4000);
    auto const multi_calls = [&] {
        auto const line = client.info("cmdstat_multi");
        return line.empty() ? 0 : std::stoi(line.substr(line.find('=') + 1));
    };
    std::vector<ClaimRequest> requests;
    for (unsigned i = 0; i < 6; ++i)
        requests.push_back(
            {named_key("lock-" + std::to_string(i)), owner(i), 5s, live.now() + 10s, true, std::nullopt});
    // the connection is up, and the draw is known
    static_cast<void>(expect<Granted>(live.claim(named_key("first"), owner(9))));
    auto const before = multi_calls();
    auto const replies = live.ask_together<ClaimReply, ClaimRequest>(&Backend::claim, requests);
    CHECK(multi_calls() == before + 2);
    auto const alone = expect<Granted>(replies[0]).fencing_token;
    auto const shared = expect<Granted>(replies[1]).fencing_token;
    CHECK(shared > alone);
    for (unsigned i = 0; i < 6; ++i) {
        if (i == 3) {
            CHECK(expect<Busy>(replies[i]).earliest_expiry <= 4s);
            continue;
        }
        CHECK(expect<Granted>(replies[i]).fencing_token == (i == 0 ? alone : shared));
        CHECK(client.get("lock-" + std::to_string(i)) == owner(i));
    }
}

TEST_CASE_METHOD(
    LiveBackendTest, "a server that has forgotten the draw is sent it again, and the grant stands", "[redis][backend]")
{
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        client.call("SCRIPT", "FLUSH");
        auto const granted = expect<Granted>(live.claim(named_key("job"), owner(1)));
        CHECK(granted.fencing_token > last);
        last = granted.fencing_token;
        client.call("DEL", "job");
    }
}

TEST_CASE_METHOD(
    LiveBackendTest, "owners that ask a pool in one turn get its first free keys, and the rest are told it is held",
    "[redis][backend]")
{
    auto const fencing = GENERATE(true, false);
    auto const size = GENERATE(10U, 300U);
    auto const range = numbered_keys("pool:", size);
    // a gap here and there, and then all of the rest
    auto const held = GENERATE_COPY(
        std::vector<unsigned>{}, std::vector<unsigned>{0, 2, 3, 5, 9},
        std::vector<unsigned>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    for (auto const index : held)
        client.call("SET", "pool:" + std::to_string(index), "python", "PX", 4000);
    std::vector<unsigned> free;
    for (unsigned i = 0; i < size; ++i)
        if (std::ranges::find(held, i) == held.end())
            free.push_back(i);

    std::vector<ClaimRequest> requests;
    for (unsigned i = 0; i < 20; ++i)
        requests.push_back({range, owner(i), 5s, live.now() + 10s, fencing, std::nullopt});
    auto const replies = live.ask_together<ClaimReply, ClaimRequest>(&Backend::claim, requests);
    for (unsigned i = 0; i < 20; ++i) {
        CAPTURE(i);
        if (i < free.size()) {
            auto const& granted = expect<Granted>(replies[i]);
            CHECK(granted.index == free[i]);
            CHECK((granted.fencing_token != 0) == fencing);
            CHECK(client.get("pool:" + std::to_string(free[i])) == owner(i));
            auto const left = client.pttl("pool:" + std::to_string(free[i]));
            CHECK(left > 3000);
            CHECK(left <= 5000);
        } else {
            CHECK(expect<Busy>(replies[i]).earliest_expiry <= 5s);
        }
    }
}

TEST_CASE_METHOD(
    LiveBackendTest, "a claim that waits takes the key or one place in the line, and the grant ends the place",
    "[redis][backend]")
{
    auto const range = GENERATE(named_key("job"), numbered_keys("job:", 2));
    auto const line = "{" + range->prefix + "}:waiting";
    for (std::uint32_t i = 0; i < range->count; ++i)
        client.call("SET", range->key(i), "python", "PX", 4000);
    auto const claim = [&](Waits waits) {
        ClaimRequest request{range, owner(1), 5s, live.now() + 10s, true, std::nullopt};
        request.waits = waits;
        return live.claim(std::move(request));
    };
    auto const names = [&] { return client.call("LRANGE", line, 0, -1).elements; };

    static_cast<void>(expect<Busy>(claim(Waits::no)));
    CHECK(names().empty());
    CHECK(expect<Busy>(claim(Waits::in_line)).earliest_expiry <= 4s);
    REQUIRE(names().size() == 1);
    auto const mine = names()[0].text;
    CHECK(client.pttl(line) > 50'000);
    static_cast<void>(expect<Busy>(claim(Waits::in_line)));
    CHECK(names().size() == 1);

    // behind another one, and in front of it
    client.call("DEL", line);
    client.call("RPUSH", line, "another");
    static_cast<void>(expect<Busy>(claim(Waits::in_line)));
    CHECK(names().at(1).text == mine);
    client.call("LREM", line, 0, mine);
    static_cast<void>(expect<Busy>(claim(Waits::in_front)));
    CHECK(names().at(0).text == mine);

    client.call("DEL", range->key(0));
    CHECK(expect<Granted>(claim(Waits::in_line)).index == 0);
    REQUIRE(names().size() == 1);
    CHECK(names()[0].text == "another");
}

TEST_CASE_METHOD(
    LiveBackendTest, "a counter that holds something else costs the claim, and says which key to delete",
    "[redis][backend]")
{
    if (GENERATE(true, false))
        client.call("RPUSH", "tenure:fence", "x");
    else
        client.call("SET", "tenure:fence", "nonsense");
    // a script draws before it writes
    auto const refused = expect_refused(live.claim(numbered_keys("pool:", 2), owner(1)));
    CHECK(refused.error == errc::key_conflict);
    CHECK(refused.fatal);
    CHECK_THAT(refused.detail, Catch::Matchers::ContainsSubstring("tenure:fence"));
    CHECK_FALSE(client.get("pool:0"));
    // the key that a transaction has taken must be given back
    auto const unconfirmed = expect<Unconfirmed>(live.claim(named_key("job"), owner(1)));
    CHECK(unconfirmed.error == errc::key_conflict);
    CHECK(unconfirmed.fatal);
    CHECK(unconfirmed.grant.fencing_token == 0);
    CHECK_THAT(unconfirmed.detail, Catch::Matchers::ContainsSubstring("tenure:fence"));
    CHECK(client.get("job") == owner(1));
}

TEST_CASE_METHOD(
    LiveBackendTest, "a named key without fencing is claimed by a plain SET that others understand", "[redis][backend]")
{
    auto const range = named_key("job");
    auto const granted = expect<Granted>(live.claim(range, owner(1), false));
    CHECK(granted.fencing_token == 0);
    CHECK(client.get("job") == owner(1));
    CHECK(client.send({"SET", "job", "python", "NX", "PX", "5000"}).is_null());
    CHECK(client.info("cmdstat_evalsha").empty());

    auto const busy = expect<Busy>(live.claim(range, owner(2), false));
    REQUIRE(busy.earliest_expiry);
    CHECK(*busy.earliest_expiry <= 5s);
    CHECK(*busy.earliest_expiry > 3s);

    client.call("SET", "job", "python", "PX", 700);
    CHECK(expect<Busy>(live.claim(range, owner(2), false)).earliest_expiry <= 700ms);
    CHECK(client.get("job") == "python");
}

TEST_CASE_METHOD(
    LiveBackendTest, "keys without ttl count as held, and as never freeing only if all are such", "[redis][backend]")
{
    auto const fencing = GENERATE(true, false);
    client.call("SET", "pool:0", "somebody");
    client.call("RPUSH", "pool:1", "somebody");
    client.call("HSET", "pool:2", "somebody", 1);
    auto const all = expect<Busy>(live.claim(numbered_keys("pool:", 3), owner(1), fencing));
    CHECK(all.never_frees);
    CHECK(expect<Busy>(live.claim(named_key("pool:0"), owner(1), fencing)).never_frees);
    CHECK(expect<Busy>(live.claim(named_key("pool:1"), owner(1), fencing)).never_frees);

    client.call("SET", "pool:3", "python", "PX", 2000);
    auto const some = expect<Busy>(live.claim(numbered_keys("pool:", 4), owner(1), fencing));
    CHECK_FALSE(some.never_frees);
    CHECK(some.earliest_expiry <= 2s);
    CHECK(client.get("pool:0") == "somebody");
}

TEST_CASE_METHOD(LiveBackendTest, "a key of another type with a ttl is held until the ttl ends", "[redis][backend]")
{
    auto const fencing = GENERATE(true, false);
    client.call("HSET", "pool:0", "a1:1", 1);
    client.call("PEXPIRE", "pool:0", 900);
    client.call("RPUSH", "pool:1", "somebody");
    // also for an owner whose earlier attempt was not answered
    auto const earlier = GENERATE(true, false);
    auto const claim = [&](KeyRangePtr const& range) {
        ClaimRequest request{range, owner(1), 5s, live.now() + 10s, fencing, std::nullopt};
        if (earlier)
            request.earliest_attempt = live.now() - 1s;
        return expect<Busy>(live.claim(std::move(request)));
    };
    for (auto const& range : {named_key("pool:0"), numbered_keys("pool:", 2)}) {
        auto const busy = claim(range);
        CHECK_FALSE(busy.never_frees);
        CHECK(busy.earliest_expiry > 0ms);
        CHECK(busy.earliest_expiry <= 900ms);
    }
    CHECK(client.call("TYPE", "pool:0").text == "hash");
}

TEST_CASE_METHOD(
    LiveBackendTest, "a later attempt finds its own claim wherever it is, extends it and takes no other",
    "[redis][backend]")
{
    auto const fencing = GENERATE(true, false);
    auto const count = GENERATE(1U, 70U, 5000U);
    auto const range = count == 1 ? named_key("pool:0") : numbered_keys("pool:", count);
    client.call("SET", "pool:" + std::to_string(count - 1), owner(1), "PX", 900);
    // the earlier attempt drew one too
    client.call("SET", "tenure:fence", "8000000000000077");

    ClaimRequest request{range, owner(1), 5s, live.now() + 10s, fencing, live.now() - 1s};
    auto const asked = live.now();
    auto const granted = expect<Granted>(live.claim(request));
    CHECK(granted.index == count - 1);
    CHECK(granted.since >= asked);
    CHECK(granted.fencing_token == (fencing ? 8000000000000078U : 0U));
    CHECK(client.pttl("pool:" + std::to_string(count - 1)) > 3000);
    CHECK(client.keys("pool:*").size() == 1);

    request.owner = owner(2);
    if (count == 1) {
        static_cast<void>(expect<Busy>(live.claim(request)));
    } else {
        CHECK(expect<Granted>(live.claim(request)).index == 0);
        CHECK(client.get("pool:0") == owner(2));
    }
}

TEST_CASE_METHOD(LiveBackendTest, "a range of several pages is searched to its end", "[redis][backend]")
{
    constexpr unsigned count = 9000;
    auto const range = numbered_keys("pool:", count);
    // from "pool:0" on, without a reply for each
    client.call(
        "EVAL", "for i = 0, tonumber(ARGV[1]) - 1 do redis.call('SET', 'pool:' .. i, 'x', 'PX', 60000) end", 0, count);
    static_cast<void>(expect<Busy>(live.claim(range, owner(1))));
    // large ranges tell the expiry from the second answer on
    client.call("PEXPIRE", "pool:8500", 20000);
    auto const busy = expect<Busy>(live.claim(range, owner(1)));
    REQUIRE(busy.earliest_expiry);
    CHECK(*busy.earliest_expiry <= 20s);
    CHECK(*busy.earliest_expiry > 10s);
    client.call("DEL", "pool:8999");
    CHECK(expect<Granted>(live.claim(range, owner(1))).index == 8999);
    client.call("DEL", "pool:4096");
    CHECK(expect<Granted>(live.claim(range, owner(2))).index == 4096);
}

TEST_CASE_METHOD(
    LiveBackendTest, "scripts that the server has forgotten are sent again, whatever they do", "[redis][backend]")
{
    auto const range = numbered_keys("pool:", 2);
    auto const flush = [&] { client.call("SCRIPT", "FLUSH"); };
    flush();
    CHECK(expect<Granted>(live.claim(range, owner(1))).index == 0);
    auto const claim = claim_of(range, owner(1), 0);
    flush();
    static_cast<void>(expect<Renewed>(live.renew(claim, 9s)));
    CHECK(client.pttl("pool:0") > 5000);
    flush();
    CHECK(expect<std::vector<KeyState>>(live.inspect(range)).size() == 2);
    flush();
    static_cast<void>(expect<Released>(live.release(claim)));
    flush();
    static_cast<void>(expect<Granted>(live.claim(range, owner(2))));
    flush();
    static_cast<void>(expect<Released>(live.withdraw(range, owner(2))));
    CHECK_FALSE(client.get("pool:0"));
    static_cast<void>(expect<Granted>(live.claim(range, owner(3))));
    flush();
    static_cast<void>(expect<Evicted>(live.evict(range, 0, owner(3))));
    CHECK(client.get("pool:0") == "evicted/operator");
}
