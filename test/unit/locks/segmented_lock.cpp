// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/segmented_lock.hpp>
#include <tenure/testing.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure
{

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace
{

auto refusal(char const* words)
{
    return MessageMatches(ContainsSubstring(words));
}

struct SegmentedTest {
    testing::VirtualTime time;
    testing::SimulatedStore server{time};
    Store store = server.open("here");

    [[nodiscard]] LeaseSet acquired(MultiLock const& locks)
    {
        LeaseSet result;
        locks.async_try_acquire([&](error_code error, std::optional<LeaseSet> set) {
            CHECK_FALSE(error);
            if (set)
                result = std::move(*set);
        });
        time.run_ready();
        return result;
    }
};

} // namespace

TEST_CASE("hashed segments are those that other languages compute")
{
    // published values of FNV-1a, 64 bits, modulo a count that shows their low bits
    std::map<std::string, std::uint64_t> const vectors{
        {"", 0xcbf29ce484222325}, {"a", 0xaf63dc4c8601ec8c}, {"foobar", 0x85944171f73967e8}};
    for (std::uint32_t const count : {1U, 7U, 16U, 1000U, 1024U})
        for (auto const& [text, hash] : vectors)
            CHECK(Segments::hashed(count).suffix_of(text) == std::to_string(hash % count));
    CHECK(Segments::hashed(16).suffix_of("sku-1") == "12");
}

TEST_CASE("ranges begin at their bounds, names are keys, windows begin at the item's own time")
{
    auto const ranges = Segments::ranges({1000, 2000, 3000});
    CHECK(ranges.count() == 4);
    CHECK(ranges.suffix_of(std::numeric_limits<std::int64_t>::min()) == "0");
    CHECK(ranges.suffix_of(999) == "0");
    CHECK(ranges.suffix_of(1000) == "1");
    CHECK(ranges.suffix_of(2999) == "2");
    CHECK(ranges.suffix_of(3000) == "3");

    auto const named = Segments::named({"goods", "orders"});
    CHECK(named.suffix_of("orders") == "orders");
    CHECK(named.suffix(0) == "goods");

    auto const windows = Segments::windows(10min);
    CHECK(windows.count() == 0);
    CHECK(windows.suffix_of(std::chrono::sys_days{}) == "0");
    CHECK(windows.suffix_of(std::chrono::sys_days{} + 9min + 59s) == "0");
    CHECK(windows.suffix_of(std::chrono::sys_days{} + 10min) == "600000");
    CHECK(windows.suffix_of(std::chrono::sys_days{} - 1ms) == "-600000");
}

TEST_CASE("bad input of segments is refused in words")
{
    CHECK_THROWS_MATCHES(Segments::hashed(0), std::invalid_argument, refusal("Segments::hashed has 0: 1 to 1024"));
    CHECK_THROWS_MATCHES(Segments::hashed(1025), std::invalid_argument, refusal("1 to 1024"));
    CHECK_THROWS_MATCHES(Segments::ranges({}), std::invalid_argument, refusal("Segments::ranges has 0"));
    CHECK_THROWS_MATCHES(Segments::ranges({1, 1}), std::invalid_argument, refusal("greater"));
    CHECK_THROWS_MATCHES(Segments::named({"a", "b", "a"}), std::invalid_argument, refusal("'a' twice"));
    CHECK_THROWS_MATCHES(Segments::windows(0ms), std::invalid_argument, refusal("at least 1 ms"));
    CHECK_THROWS_MATCHES(Segments::named({"goods"}).suffix_of("goodies"), std::invalid_argument, refusal("'goodies'"));
    CHECK_THROWS_MATCHES(Segments::hashed(4).suffix_of(7), std::invalid_argument, refusal("give a text"));
    CHECK_THROWS_MATCHES(Segments::ranges({7}).suffix_of("7"), std::invalid_argument, refusal("give a number"));
    CHECK_THROWS_MATCHES(Segments::windows(1s).suffix_of(7), std::invalid_argument, refusal("give a time"));
    static_assert(!std::is_constructible_v<SegmentItem, bool> && !std::is_constructible_v<SegmentItem, char>);
    CHECK(Segments::ranges({0, 7}).suffix_of(std::numeric_limits<std::uint64_t>::max()) == "2");
    CHECK_THROWS_MATCHES(Segments::hashed(4).suffix(4), std::invalid_argument, refusal("segment 4 of 4"));

    SegmentedTest test;
    CHECK_THROWS_MATCHES(
        SegmentedLock(test.store, {.prefix = "a\n"}), std::invalid_argument,
        refusal("SegmentedLockConfig::prefix with the segment"));
    CHECK_THROWS_MATCHES(
        SegmentedLock(test.store, {.prefix = "a", .ttl = 1ms}), std::invalid_argument,
        refusal("SegmentedLockConfig::ttl"));
    SegmentedLock const windows(test.store, {.prefix = "w:", .segments = Segments::windows(1h)});
    CHECK_THROWS_MATCHES(windows.all(), std::invalid_argument, refusal("no end"));
    CHECK_THROWS_MATCHES(windows.segment(0), std::invalid_argument, refusal("no numbers"));
    CHECK_THROWS_MATCHES(windows.for_items({}), std::invalid_argument, refusal("no items"));
}

TEST_CASE("items of one segment exclude each other, items of different segments do not")
{
    SegmentedTest test;
    SegmentedLock const stock(test.store, {.prefix = "stock:", .segments = Segments::named({"a", "b", "c"})});
    CHECK(stock.key_of("a") == "stock:a");
    auto a = test.acquired(stock.for_item("a"));
    REQUIRE_FALSE(a.empty());
    CHECK(test.server.held("stock:a"));
    CHECK(test.acquired(stock.for_item("a")).empty());
    CHECK_FALSE(test.acquired(stock.for_item("b")).empty());
    std::array<SegmentItem, 3> const items{"c", "b", "c"};
    auto both = test.acquired(stock.for_items(items));
    REQUIRE_FALSE(both.empty());
    CHECK(both.size() == 2);
    CHECK(test.acquired(stock.all()).empty());
    both = LeaseSet();
    a = LeaseSet();
    test.time.run_ready();
    auto const all = test.acquired(stock.all());
    REQUIRE_FALSE(all.empty());
    CHECK(all.size() == 3);
    CHECK(test.acquired(stock.segment(1)).empty());
}

TEST_CASE("while the number of segments changes, programs of each step exclude those of the next")
{
    SegmentedTest test;
    auto const of = [&](std::uint32_t count, std::optional<Segments> also) {
        return SegmentedLock(
            test.store, {.prefix = "k:", .segments = Segments::hashed(count), .also = std::move(also)});
    };
    std::array const steps{
        of(16, std::nullopt), of(16, Segments::hashed(32)), of(32, Segments::hashed(16)), of(32, std::nullopt)};
    for (int item = 0; item < 50; ++item) {
        auto const name = "item " + std::to_string(item);
        for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
            auto const held = test.acquired(steps[step].for_item(name));
            REQUIRE_FALSE(held.empty());
            CHECK(test.acquired(steps[step + 1].for_item(name)).empty());
        }
        test.time.run_ready();
    }
}

} // namespace tenure
