// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// From when the times of a set's leases count.
#include <tenure/multi_lock.hpp>
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace tenure
{

using namespace std::chrono_literals;

TEST_CASE("max_hold of a set, and the ttl of one that is renewed by hand, count from the grant of its first key")
{
    testing::VirtualTime time;
    testing::SimulatedStore server{time};
    auto const store = server.open("here");
    Lease b;
    Lock(server.open("elsewhere"), {.key = "b", .ttl = 3s}).async_acquire([&](error_code, Lease lease) {
        b = std::move(lease);
    });
    time.run_ready();
    REQUIRE_FALSE(b.empty());
    auto const begin = time.now();
    LeaseOptions options;
    bool const by_hand = GENERATE(false, true);
    CAPTURE(by_hand);
    if (by_hand)
        options.renewal = Renewal::manual;
    else
        options.max_hold = 2s;
    auto const limit = by_hand ? begin + 3s : begin + 2s;
    std::optional<error_code> acquired;
    LeaseSet set;
    MultiLock(store, {.keys = {"a", "b"}, .ttl = 3s, .lease = options})
        .async_acquire(10s, [&](error_code error, LeaseSet granted) {
            acquired = error;
            set = std::move(granted);
        });
    time.run_for(1500ms);
    CHECK_FALSE(acquired);
    SECTION("what is left of it is the caller's")
    {
        b = Lease();
        time.run_ready();
        REQUIRE(acquired == error_code());
        CHECK_FALSE(set.token().cancelled());
        time.run_for(limit - time.now());
        CHECK(set.token().reason() == (by_hand ? CancelReason::expired : CancelReason::max_hold));
        CHECK(set[0].token().cancelled());
        CHECK_FALSE(set[1].token().cancelled());
    }
    SECTION("a key of which nothing is left is acquired anew")
    {
        time.run_for(2s);
        b = Lease();
        time.run_ready();
        REQUIRE(acquired == error_code());
        CHECK(time.now() > limit);
        CHECK(set.valid());
        CHECK_FALSE(set.token().cancelled());
    }
}

} // namespace tenure
