// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/cluster/open_slots.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vector>

namespace tenure::redis
{

using Catch::Matchers::ContainsSubstring;

namespace
{

// as Redis 7 answers CLUSTER NODES
constexpr auto some_nodes =
    "aaaa 10.0.0.1:6379@16379,host1 myself,master - 0 0 1 connected 0-5460 [77->-bbbb] [5461-<-cccc]\n"
    "bbbb 10.0.0.2:6379@16379,host2 master - 0 1700000000000 2 connected 5461-10922 [9->-aaaa]\n"
    "dddd 10.0.0.4:6379@16379 slave aaaa 0 1700000000000 1 connected\n";

} // namespace

TEST_CASE("the open slots of the answering node are read, with the addresses of the other nodes", "[redis][cluster]")
{
    auto const open = read_open_slots(some_nodes);
    REQUIRE(open.size() == 2);
    CHECK(open[0].slot == 77);
    CHECK_FALSE(open[0].importing);
    CHECK(open[0].other == "10.0.0.2:6379");
    CHECK(open[1].slot == 5461);
    CHECK(open[1].importing);
    // a node that the cluster has forgotten
    CHECK(open[1].other == "cccc");
}

TEST_CASE("text that is no description of nodes has no open slot", "[redis][cluster]")
{
    for (auto const* const text :
         {"", "\n\n", "myself", "a b myself", "a b myself,master - 0 0 1 connected [x->-b] [99999->-b] [7] [7-b] []",
          "a b master - 0 0 1 connected [7->-b]\n"})
        CHECK(read_open_slots(text).empty());
}

TEST_CASE("an open slot is an error with the command that closes it", "[redis][cluster]")
{
    ServerAddress const master{"10.0.0.1", 6379};
    auto const finding = judge_open_slots(read_open_slots(some_nodes), master);
    CHECK(finding.severity == Finding::Severity::error);
    CHECK(finding.observed == "10.0.0.1:6379: open: 77 (migrating to 10.0.0.2:6379), 5461 (importing from cccc)");
    CHECK_THAT(finding.advice, ContainsSubstring("redis-cli --cluster fix 10.0.0.1:6379"));
    CHECK_THAT(finding.advice, ContainsSubstring("CLUSTER SETSLOT 77 STABLE"));
    CHECK(judge_open_slots({}, master).severity == Finding::Severity::ok);
    std::vector<OpenSlot> const many(8, OpenSlot{5, false, "b"});
    CHECK_THAT(judge_open_slots(many, master).observed, ContainsSubstring("and 3 more"));
}

} // namespace tenure::redis
