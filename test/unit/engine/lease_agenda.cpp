// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "engine/lease_agenda.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

/** Stands for a lease: the agenda never looks into one. */
LeaseRecordPtr lease(std::uintptr_t number)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-reinterpret-cast): a name, never followed
    return {std::shared_ptr<void>(), reinterpret_cast<LeaseRecord*>(number)};
}

Instant at(int tick)
{
    return Instant(Clock::duration(tick));
}

} // namespace

TEST_CASE("an agenda keeps every lease at the instant that it was given last")
{
    std::minstd_rand random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same moves each time
    LeaseAgenda agenda;
    std::vector<std::pair<LeaseRecordPtr, LeaseAgenda::Place>> leases;
    std::vector<int> due;
    for (std::uintptr_t number = 1; number <= 40; ++number) {
        due.push_back(static_cast<int>(random() % 8));
        leases.emplace_back(lease(number), agenda.add(lease(number), at(due.back())));
    }
    for (int move = 0; move < 5000; ++move) {
        auto const one = random() % leases.size();
        due[one] = static_cast<int>(random() % 8);
        if (move % 7 == 0) {
            CHECK(agenda.take(leases[one].second) == leases[one].first);
            leases[one].second = agenda.add(leases[one].first, at(due[one]));
        } else {
            agenda.move(leases[one].second, at(due[one]));
        }
        REQUIRE(leases[one].second.when() == at(due[one]));
        REQUIRE(agenda.first() == at(std::ranges::min(due)));
        auto const until = static_cast<int>(random() % 8);
        auto const found = agenda.due_by(at(until));
        REQUIRE(found.size() == static_cast<std::size_t>(std::ranges::count_if(due, [&](int when) {
                    return when <= until;
                })));
        for (std::size_t i = 0; i < leases.size(); ++i)
            REQUIRE((std::ranges::find(found, leases[i].first) != found.end()) == (due[i] <= until));
    }
    for (auto const& [record, place] : leases)
        CHECK(agenda.take(place) == record);
    CHECK(agenda.empty());
}

} // namespace tenure::engine
