// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "status/shard_listing.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::tool;
using Catch::Matchers::ContainsSubstring;
using tenure::KeyState;

namespace
{

KeyState state(std::uint32_t index, std::string owner)
{
    KeyState result;
    result.index = index;
    result.kind = owner.empty() ? KeyState::Kind::free : KeyState::Kind::held;
    result.owner = std::move(owner);
    result.held_for = 61s;
    return result;
}

/** A member of weight 2, one of weight 1, a program that is no member, and a shard without an owner. */
SlotListing keys()
{
    auto const big = "big:1/0123456789abcdef0123456789abcdef";
    auto const small = "small:2/0123456789abcdef0123456789abcdef";
    auto const gone = "gone:3/0123456789abcdef0123456789abcdef";
    return {
        "redis://host:6379/0",
        {tenure::numbered_keys("orders:member:", 4), tenure::numbered_keys("orders:shard:", 6)},
        {state(0, small), state(1, big), state(2, ""), state(3, big), state(0, big), state(1, big), state(2, small),
         state(3, big), state(4, gone), state(5, "")},
        std::chrono::system_clock::time_point{}};
}

} // namespace

TEST_CASE("numbers in a row are shown as a span")
{
    CHECK(spans({}) == "-");
    CHECK(spans({3}) == "3");
    CHECK(spans({3, 4}) == "3, 4");
    CHECK(spans({0, 1, 2, 3, 7, 9, 10, 11}) == "0-3, 7, 9-11");
}

TEST_CASE("the listing of a group names each member once, with all its numbers and shards")
{
    auto const text = as_table(ShardListing(keys()));
    CHECK_THAT(text, ContainsSubstring("orders:shard: on redis://host:6379/0: 2 members, 5 of 6 shards owned"));
    CHECK_THAT(text, ContainsSubstring("without an owner: 5"));
    std::vector<std::string> const holders = {"small:2", "big:1", "gone:3"};
    ShardListing const listing(keys());
    REQUIRE(listing.members.size() == 3);
    for (std::size_t i = 0; i < holders.size(); ++i)
        CHECK(listing.members[i].holder == holders[i]);
    CHECK(listing.members[1].numbers == std::vector<std::uint32_t>{1, 3});
    CHECK(listing.members[1].shards == std::vector<std::uint32_t>{0, 1, 3});
    CHECK(listing.members[2].numbers.empty());
    CHECK_THAT(text, !ContainsSubstring("0123456789abcdef"));
}

TEST_CASE("the listing of a group as JSON has owners, and shards without one")
{
    auto const object = boost::json::parse(as_json(ShardListing(keys()))).as_object();
    auto const& owners = object.at("owners").as_array();
    REQUIRE(owners.size() == 3);
    CHECK(owners[0].at("holder").as_string() == "small:2");
    CHECK(owners[1].at("shards").as_array().size() == 3);
    CHECK(object.at("unowned").as_array().size() == 1);
    CHECK(object.at("count").to_number<int>() == 6);
}

TEST_CASE("a key of a group that could not be read is no member, and no free shard")
{
    auto listing = keys();
    listing.unread = {{0, "refused"}, {9, "refused"}};
    ShardListing const group(listing);
    CHECK(group.unowned.empty());
    CHECK(group.members.front().holder == "big:1");
    CHECK_THAT(
        as_table(group), ContainsSubstring("orders:member:0: unknown: refused") &&
                             ContainsSubstring("orders:shard:5: unknown: refused"));
}
