// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/memory/domain.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenure::memory
{

using namespace std::chrono_literals;

namespace
{

/** A domain with stores that claim, release and watch. */
struct LineTest {
    std::shared_ptr<Domain> domain = Domain::named("");
    Instant now{1h};
    /// the notifications of each store
    std::map<StoreName, std::vector<WatchEvent>> told;

    bool claim(KeyRangePtr const& range, StoreName store, Waits waits = Waits::in_line) const
    {
        ClaimRequest request;
        request.range = range;
        request.owner = std::to_string(store);
        request.ttl = 24h;
        request.waits = waits;
        return std::holds_alternative<Granted>(domain->claim(request, now, store));
    }
    bool release(
        KeyRangePtr const& range, StoreName store, std::uint32_t index = 0,
        std::chrono::milliseconds reuse_after = {}) const
    {
        auto claim = std::make_shared<Claim>();
        claim->range = range;
        claim->index = index;
        claim->owner = std::to_string(store);
        claim->reuse_after = reuse_after;
        auto const reply = domain->release({std::move(claim), now}, now, store);
        REQUIRE(std::holds_alternative<Released>(reply));
        return std::get<Released>(reply).named_another;
    }
    void watch(KeyRangePtr const& range, StoreName store, WatchAs as = WatchAs::waiter)
    {
        (void)domain->subscribe([this, store](WatchEvent event) { told[store].push_back(event); }, *range, as, store);
    }

    using Events = std::vector<WatchEvent>;
};

using Events = LineTest::Events;

} // namespace

TEST_CASE("a release names the first in line, and tells the other waiters to hold back and observers all the same")
{
    LineTest test;
    auto const lock = named_key("k");
    for (StoreName store = 1; store <= 4; ++store)
        test.watch(lock, store);
    test.watch(lock, 9, WatchAs::observer);
    REQUIRE(test.claim(lock, 1));
    REQUIRE_FALSE(test.claim(lock, 2));
    REQUIRE_FALSE(test.claim(lock, 3));
    // once more, and it stands where it stood
    REQUIRE_FALSE(test.claim(lock, 2));
    CHECK(test.release(lock, 1));
    CHECK(test.told[2] == Events{WatchEvent::our_turn});
    CHECK(test.told[1] == Events{WatchEvent::others_turn});
    CHECK(test.told[3] == Events{WatchEvent::others_turn});
    CHECK(test.told[4] == Events{WatchEvent::others_turn});
    CHECK(test.told[9] == Events{WatchEvent::hint});
    SECTION("the named store's name is out of the line")
    {
        REQUIRE(test.claim(lock, 2));
        CHECK(test.release(lock, 2));
        CHECK(test.told[3].back() == WatchEvent::our_turn);
    }
    SECTION("a named store that is too late stands in front")
    {
        REQUIRE(test.claim(lock, 4, Waits::no));
        REQUIRE_FALSE(test.claim(lock, 2, Waits::in_front));
        CHECK(test.release(lock, 4));
        CHECK(test.told[2].back() == WatchEvent::our_turn);
        CHECK(test.told[3].back() == WatchEvent::others_turn);
    }
}

TEST_CASE("where nobody stands in line, a release is a hint to all who watch")
{
    LineTest test;
    auto const lock = named_key("k");
    test.watch(lock, 2);
    test.watch(lock, 9, WatchAs::observer);
    REQUIRE(test.claim(lock, 1));
    SECTION("nobody asked")
    {
    }
    SECTION("nobody waits")
    {
        REQUIRE_FALSE(test.claim(lock, 2, Waits::no));
    }
    SECTION("the waiter left")
    {
        REQUIRE_FALSE(test.claim(lock, 2));
        test.domain->leave_line(*lock, 2);
    }
    CHECK_FALSE(test.release(lock, 1));
    CHECK(test.told[2] == Events{WatchEvent::hint});
    CHECK(test.told[9] == Events{WatchEvent::hint});
}

TEST_CASE("a domain forgets keys that have expired, and gives none of them a lower fencing token")
{
    LineTest test;
    auto const claim = [&](std::string const& key, std::chrono::milliseconds ttl) {
        ClaimRequest request;
        request.range = named_key(key);
        request.owner = "owner";
        request.ttl = ttl;
        request.fencing = true;
        auto const reply = test.domain->claim(request, test.now);
        REQUIRE(std::holds_alternative<Granted>(reply));
        return std::get<Granted>(reply).fencing_token;
    };
    (void)claim("kept", 24h);
    auto const first = claim("job", 1s);
    std::size_t most = 0;
    for (int i = 0; i < 10'000; ++i) {
        (void)claim(std::to_string(i), 1s);
        test.now += 10ms;
        most = std::max(most, test.domain->size());
    }
    // 100 are held at a time
    CHECK(most < 2000);
    CHECK(test.domain->held("kept", test.now));
    CHECK(claim("job", 1s) > first);
}

TEST_CASE("a store that names itself has named no other")
{
    LineTest test;
    auto const lock = named_key("k");
    REQUIRE(test.claim(lock, 1));
    REQUIRE_FALSE(test.claim(lock, 1));
    CHECK_FALSE(test.release(lock, 1));
}

TEST_CASE("a grant takes the store out of the line, whichever key it is")
{
    LineTest test;
    auto const pool = numbered_keys("p:", 2);
    REQUIRE(test.claim(pool, 1));
    REQUIRE(test.claim(pool, 2));
    REQUIRE_FALSE(test.claim(pool, 3));
    test.domain->remove("p:1");
    SECTION("a waiter's")
    {
        REQUIRE(test.claim(pool, 3));
        CHECK_FALSE(test.release(pool, 1));
    }
    SECTION("but not a single try's: its store waits elsewhere")
    {
        REQUIRE(test.claim(pool, 3, Waits::no));
        CHECK(test.release(pool, 1));
    }
}

TEST_CASE("a withdrawal names one store for each key that it frees")
{
    LineTest test;
    auto const pool = numbered_keys("p:", 3);
    for (StoreName store = 5; store <= 7; ++store)
        test.watch(pool, store);
    REQUIRE(test.claim(pool, 1));
    REQUIRE(test.claim(pool, 2));
    REQUIRE(test.claim(pool, 1));
    for (StoreName store = 5; store <= 7; ++store)
        REQUIRE_FALSE(test.claim(pool, store));
    auto const reply = test.domain->withdraw({pool, "1", test.now, true, {}}, test.now, 1);
    CHECK(std::get<Released>(reply).named_another);
    CHECK(test.told[5] == Events{WatchEvent::our_turn});
    CHECK(test.told[6] == Events{WatchEvent::our_turn});
    CHECK(test.told[7] == Events{WatchEvent::others_turn});
}

TEST_CASE("lines are those of prefixes: pools of different size share one, a lock on one of their keys has its own")
{
    LineTest test;
    auto const small = numbered_keys("p:", 1);
    auto const large = numbered_keys("p:", 2);
    auto const lock = named_key("p:1");
    test.watch(small, 1);
    test.watch(lock, 2);
    REQUIRE(test.claim(large, 8));
    REQUIRE(test.claim(large, 9));
    REQUIRE_FALSE(test.claim(small, 1));
    REQUIRE_FALSE(test.claim(lock, 2));
    CHECK(test.release(large, 9, 1));
    // its pool has no such key, but its name is out of the line
    CHECK(test.told[1] == Events{WatchEvent::our_turn});
    CHECK(test.told[2] == Events{WatchEvent::others_turn});
    REQUIRE(test.claim(lock, 3));
    CHECK(test.release(lock, 3));
    CHECK(test.told[2].back() == WatchEvent::our_turn);
}

TEST_CASE("a key that rests is nobody's turn")
{
    LineTest test;
    auto const pool = numbered_keys("p:", 1);
    test.watch(pool, 2);
    REQUIRE(test.claim(pool, 1));
    REQUIRE_FALSE(test.claim(pool, 2));
    CHECK_FALSE(test.release(pool, 1, 0, 5s));
    CHECK(test.told[2] == Events{WatchEvent::hint});
    test.now += 5s;
    REQUIRE(test.claim(pool, 3, Waits::no));
    CHECK(test.release(pool, 3));
    CHECK(test.told[2].back() == WatchEvent::our_turn);
}

TEST_CASE("a line lasts a minute beyond the last claim of a waiter")
{
    LineTest test;
    auto const lock = named_key("k");
    REQUIRE(test.claim(lock, 1));
    REQUIRE_FALSE(test.claim(lock, 2));
    test.now += 59s;
    REQUIRE_FALSE(test.claim(lock, 3));
    SECTION("not yet over")
    {
        test.now += 59s;
        CHECK(test.release(lock, 1));
    }
    SECTION("over")
    {
        test.now += 60s;
        CHECK_FALSE(test.release(lock, 1));
    }
}

TEST_CASE("a line takes no more than 1,024 stores")
{
    LineTest test;
    auto const lock = named_key("k");
    constexpr StoreName holder = 5000;
    REQUIRE(test.claim(lock, holder));
    for (StoreName store = 1; store <= 1025; ++store)
        REQUIRE_FALSE(test.claim(lock, store));
    for (StoreName named = 1; named <= 1024; ++named) {
        REQUIRE(test.release(lock, holder));
        REQUIRE(test.claim(lock, holder, Waits::no));
    }
    CHECK_FALSE(test.release(lock, holder));
}

} // namespace tenure::memory
