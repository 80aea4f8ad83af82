// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The records of owners whose attempts are under way, or of unknown outcome.
#include "store/etcd/cluster_context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>

using namespace tenure;
using namespace std::chrono_literals;

TEST_CASE("an owner that was withdrawn is forgotten when its lease has lapsed, whatever came of that", "[etcd]")
{
    constexpr Instant start{1h};
    etcd::Owners owners;
    auto const withdrawn = owners.add("withdrawn", start);
    withdrawn->withdrawn = true;
    withdrawn->over_at = start + 10s;
    auto const open = owners.add("open", start);
    auto const many = [&](char const* kind, Instant now) {
        for (int i = 0; i < 200; ++i)
            static_cast<void>(owners.add(kind + std::to_string(i), now));
    };
    many("early", start + 9s);
    CHECK(owners.find("withdrawn") == withdrawn);
    many("late", start + 10s);
    CHECK(owners.find("withdrawn") == nullptr);
    CHECK(owners.find("open") == open);
}
