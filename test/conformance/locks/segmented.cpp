// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A lock in segments, and once per window, on every store.
#include "conformance/locks/programs.hpp"
#include "conformance/locks/set_attempt.hpp"

#include <tenure/lock.hpp>
#include <tenure/segmented_lock.hpp>

#include <boost/system/errc.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** Two programs that divide their items. */
struct Dividing {
    Programs programs;
    Store here = programs.open("here");
    Store elsewhere = programs.open("elsewhere");

    [[nodiscard]] SegmentedLock
    lock(Store const& store, Segments segments, std::optional<Segments> also = std::nullopt) const
    {
        return SegmentedLock(
            store,
            {.prefix = programs.key("segment:"), .segments = std::move(segments), .also = std::move(also), .ttl = 30s});
    }
    /** Whether the other keys are taken while these are held: a try then gets nothing. */
    [[nodiscard]] bool excludes(MultiLock const& held, MultiLock const& other)
    {
        auto first = try_once(programs, held);
        if (first.empty())
            throw std::logic_error("the first of two sets was not granted");
        auto second = try_once(programs, other);
        bool const excluded = second.empty();
        if (!second.empty())
            (void)release(programs, second);
        (void)release(programs, first);
        return excluded;
    }
};

/** A text whose segment is this one, or another one. */
std::string text_where(Segments const& segments, std::string const& suffix, bool same, std::string const& but)
{
    for (int number = 0;; ++number)
        if (auto text = "item-" + std::to_string(number); text != but && (segments.suffix_of(text) == suffix) == same)
            return text;
}

} // namespace

TEST_CASE("items of one segment exclude each other, items of different segments do not", "[segmented]")
{
    Dividing dividing;
    auto const segments = Segments::hashed(16);
    auto const here = dividing.lock(dividing.here, segments);
    auto const elsewhere = dividing.lock(dividing.elsewhere, segments);
    auto const suffix = segments.suffix_of("sku-1");
    auto const neighbour = text_where(segments, suffix, true, "sku-1");
    auto const stranger = text_where(segments, suffix, false, "sku-1");
    CHECK(dividing.excludes(here.for_item("sku-1"), elsewhere.for_item("sku-1")));
    CHECK(dividing.excludes(here.for_item("sku-1"), elsewhere.for_item(neighbour)));
    CHECK_FALSE(dividing.excludes(here.for_item("sku-1"), elsewhere.for_item(stranger)));
}

TEST_CASE("several items take the segments of all of them, and all segments exclude every item", "[segmented]")
{
    Dividing dividing;
    auto const segments = Segments::ranges({100, 200, 300});
    auto const here = dividing.lock(dividing.here, segments);
    auto const elsewhere = dividing.lock(dividing.elsewhere, segments);
    std::array<SegmentItem, 3> const items{250, 7, 299};
    CHECK(here.for_items(items).size() == 2);
    CHECK(dividing.excludes(here.for_items(items), elsewhere.for_item(99)));
    CHECK(dividing.excludes(here.for_items(items), elsewhere.for_item(200)));
    CHECK_FALSE(dividing.excludes(here.for_items(items), elsewhere.for_item(100)));
    CHECK_FALSE(dividing.excludes(here.for_items(items), elsewhere.for_item(300)));
    for (auto const item : {0, 100, 200, 300}) {
        CHECK(dividing.excludes(here.all(), elsewhere.for_item(item)));
        CHECK(dividing.excludes(elsewhere.for_item(item), here.all()));
    }
    CHECK(dividing.excludes(here.all(), elsewhere.all()));
}

TEST_CASE("while the number of segments changes, old and new programs exclude each other", "[segmented]")
{
    Dividing dividing;
    auto const sixteen = Segments::hashed(16);
    auto const thirty_two = Segments::hashed(32);
    auto const old_programs = dividing.lock(dividing.here, sixteen);
    auto const first_step = dividing.lock(dividing.elsewhere, sixteen, thirty_two);
    auto const second_step = dividing.lock(dividing.here, thirty_two, sixteen);
    auto const new_programs = dividing.lock(dividing.elsewhere, thirty_two);
    // its two segments have different keys
    std::string item = "item-0";
    for (int number = 1; sixteen.suffix_of(item) == thirty_two.suffix_of(item); ++number)
        item = "item-" + std::to_string(number);
    CHECK(first_step.for_item(item).size() == 2);
    CHECK(dividing.excludes(old_programs.for_item(item), first_step.for_item(item)));
    CHECK(dividing.excludes(first_step.for_item(item), old_programs.for_item(item)));
    CHECK(dividing.excludes(first_step.for_item(item), second_step.for_item(item)));
    CHECK(dividing.excludes(second_step.for_item(item), new_programs.for_item(item)));
    CHECK(dividing.excludes(new_programs.for_item(item), second_step.for_item(item)));
    CHECK(dividing.excludes(first_step.all(), second_step.for_item(item)));
    // the purpose of the steps
    CHECK_FALSE(dividing.excludes(old_programs.for_item(item), new_programs.for_item(item)));
}

TEST_CASE("windows are those of the items' own times", "[segmented]")
{
    Dividing dividing;
    auto const here = dividing.lock(dividing.here, Segments::windows(10min));
    auto const elsewhere = dividing.lock(dividing.elsewhere, Segments::windows(10min));
    // long ago: the present time decides nothing
    auto const begin = std::chrono::sys_days(std::chrono::year(2001) / 9 / 9) + 1h;
    CHECK(dividing.excludes(here.for_item(begin), elsewhere.for_item(begin + 10min - 1ms)));
    CHECK_FALSE(dividing.excludes(here.for_item(begin), elsewhere.for_item(begin + 10min)));
    CHECK_FALSE(dividing.excludes(here.for_item(begin), elsewhere.for_item(begin - 1ms)));
}

TEST_CASE("work that ends by leaving its window's key to expire runs once in that window", "[segmented][detach]")
{
    Dividing dividing;
    auto& programs = dividing.programs;
    auto const hourly = dividing.lock(dividing.elsewhere, Segments::windows(1h));
    auto const scheduled = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) + 30min;
    auto const run = [&](Store const& store, SegmentItem time) {
        std::optional<error_code> tried;
        Lease result;
        Lock(store, {.key = hourly.key_of(time), .ttl = 30s})
            .async_try_acquire([&](error_code error, std::optional<Lease> lease) {
                tried = error;
                if (lease)
                    result = std::move(*lease);
            });
        programs.run_until([&] { return tried.has_value(); });
        CHECK_FALSE(*tried);
        return result;
    };
    auto lease = run(dividing.here, scheduled);
    REQUIRE_FALSE(lease.empty());
    std::optional<error_code> detached;
    lease.async_detach(1h, [&](error_code error) { detached = error; });
    programs.run_until([&] { return detached.has_value(); });
    if (auto const* const reason = programs.no_detach()) {
        CHECK(detached == make_error_code(boost::system::errc::operation_not_supported));
        CHECK(lease.valid());
        CHECK(run(dividing.elsewhere, scheduled).empty());
        SKIP(reason);
    }
    CHECK(detached == error_code());
    CHECK_FALSE(lease.valid());
    // the program that ran it ends
    lease = Lease();
    dividing.here = programs.open("restarted");
    CHECK(run(dividing.here, scheduled).empty());
    CHECK(run(dividing.elsewhere, scheduled + 29min).empty());
    CHECK(try_once(programs, hourly.for_item(scheduled)).empty());
    CHECK_FALSE(run(dividing.elsewhere, scheduled + 30min).empty());
}

} // namespace tenure::test
