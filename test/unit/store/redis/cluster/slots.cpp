// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Hash slots and the map of who serves them.
#include "store/redis/cluster/hash_slot.hpp"
#include "store/redis/cluster/slot_map.hpp"
#include "store/redis/key_names.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace redis;
using resp::Type;
using resp::Value;

namespace
{

Value list(std::vector<Value> elements)
{
    return Value::list(Type::array, std::move(elements));
}
Value map(std::vector<Value> elements)
{
    return Value::list(Type::map, std::move(elements));
}
Value text(std::string value)
{
    return Value::text(std::move(value));
}
Value number(std::int64_t value)
{
    return Value::integer(value);
}

Value node(std::string const& role, Value endpoint, std::int64_t port, std::string const& health = "online")
{
    return map(
        {text("id"), text("1a2b"), text("port"), number(port), text("tls-port"), number(port + 1), text("ip"),
         text("10.9.9.9"), text("endpoint"), std::move(endpoint), text("role"), text(role), text("health"),
         text(health)});
}
Value shard(std::vector<Value> slots, std::vector<Value> nodes)
{
    return map({text("slots"), list(std::move(slots)), text("nodes"), list(std::move(nodes))});
}

AskedNode const asked{{"10.0.0.7", 7000}, false};

ServerAddress owner_of(SlotMap const& slots, HashSlot slot)
{
    auto const* const owner = slots.owner(slot);
    return owner == nullptr ? ServerAddress{"nobody", 0} : *owner;
}

} // namespace

TEST_CASE("hash slots are those that clusters use", "[cluster]")
{
    // the check value of CRC-16/XMODEM, and slots that the specification and its users quote
    CHECK(hash_slot("123456789") == 0x31c3 % 16384);
    CHECK(hash_slot("") == 0);
    CHECK(hash_slot("foo") == 12182);
    CHECK(hash_slot("somekey") == 11058);
    CHECK(hash_slot("foo{hash_tag}") == 2515);
    CHECK(hash_slot("bar{hash_tag}") == 2515);
}

TEST_CASE("only the first hash tag with something inside is hashed", "[cluster]")
{
    CHECK(hash_slot("{user1000}.following") == hash_slot("user1000"));
    CHECK(hash_slot("{user1000}.followers") == hash_slot("user1000"));
    CHECK(hash_slot("foo{}{bar}") == 8363);
    CHECK(hash_slot("foo{{bar}}zap") == hash_slot("{bar"));
    CHECK(hash_slot("foo{bar}{zap}") == hash_slot("bar"));
    CHECK(hash_slot("}{bar}") == hash_slot("bar"));
}

TEST_CASE(
    "a range has one slot if it has one key or a hash tag, and its counter of fencing tokens shares it", "[cluster]")
{
    CHECK(shared_slot(*named_key("job")) == hash_slot("job"));
    CHECK(shared_slot(*numbered_keys("pool:", 1)) == hash_slot("pool:0"));
    CHECK(shared_slot(*numbered_keys("{pool}:", 100)) == hash_slot("pool"));
    CHECK_FALSE(shared_slot(*numbered_keys("pool:", 2)));
    for (std::string const key : {"job", "{jobs}:nightly", "pool:17"})
        CHECK(hash_slot("tenure:fence:{" + slot_number(hash_slot(key)) + "}") == hash_slot(key));
    CHECK(hash_slot(channel_of(*named_key("job"))) == hash_slot("job"));
    CHECK(hash_slot(channel_of(*numbered_keys("{pool}:", 9))) == hash_slot("pool"));
}

TEST_CASE("CLUSTER SHARDS tells the masters, whatever stands beside them", "[cluster]")
{
    auto const slots = read_cluster_shards(
        list(
            {shard(
                 {number(0), number(99), number(200), number(200)},
                 {node("replica", text("10.0.0.2"), 1), node("master", text("10.0.0.1"), 7001)}),
             shard({number(100), number(199)}, {node("master", Value(), 7002)}),
             shard({number(201), number(300)}, {node("master", text(""), 7003)}),
             shard({number(301), number(400)}, {node("master", text("?"), 7004)}),
             shard(
                 {number(401), number(500)},
                 {node("master", text("10.0.0.5"), 7005, "failed"), node("master", text("10.0.0.6"), 7006)}),
             shard({number(501), number(600)}, {node("master", text("10.0.0.9\r\nwhat"), 7009)}),
             shard({}, {node("master", text("10.0.0.8"), 7008)})}),
        asked);
    REQUIRE(slots);
    CHECK(owner_of(*slots, 0) == ServerAddress{"10.0.0.1", 7001});
    CHECK(owner_of(*slots, 99) == ServerAddress{"10.0.0.1", 7001});
    CHECK(owner_of(*slots, 200) == ServerAddress{"10.0.0.1", 7001});
    // without a host, or an empty one: the host that was asked
    CHECK(owner_of(*slots, 100) == ServerAddress{"10.0.0.7", 7002});
    CHECK(owner_of(*slots, 300) == ServerAddress{"10.0.0.7", 7003});
    // "?": not known
    CHECK(slots->owner(301) == nullptr);
    CHECK(owner_of(*slots, 450) == ServerAddress{"10.0.0.6", 7006});
    // no name of a host
    CHECK(slots->owner(501) == nullptr);
    CHECK(slots->masters().size() == 4);
    CHECK(slots->covered() == 401);
    CHECK(slots->serves({"10.0.0.1", 7001}));
    CHECK_FALSE(slots->serves({"10.0.0.8", 7008}));
}

TEST_CASE("over TLS the TLS ports count", "[cluster]")
{
    auto const slots = read_cluster_shards(
        list({shard({number(0), number(16383)}, {node("master", text("a"), 7001)})}), {{"b", 1}, true});
    REQUIRE(slots);
    CHECK(owner_of(*slots, 16383) == ServerAddress{"a", 7002});
}

TEST_CASE("CLUSTER SLOTS tells the same", "[cluster]")
{
    auto const one = [](std::int64_t first, std::int64_t last, Value host, std::int64_t port) {
        return list(
            {number(first), number(last), list({std::move(host), number(port), text("id")}),
             list({text("10.0.0.2"), number(1), text("id")})});
    };
    auto const slots = read_cluster_slots(
        list({one(0, 5460, text("10.0.0.1"), 7001), one(5461, 10922, Value(), 7002), one(10923, 16383, text("?"), 3)}),
        asked);
    REQUIRE(slots);
    CHECK(owner_of(*slots, 5460) == ServerAddress{"10.0.0.1", 7001});
    CHECK(owner_of(*slots, 5461) == ServerAddress{"10.0.0.7", 7002});
    CHECK(slots->owner(10923) == nullptr);
}

TEST_CASE("a description that makes no sense is not believed", "[cluster]")
{
    auto const master = [] { return std::vector<Value>{node("master", text("a"), 1)}; };
    for (auto const& reply :
         {text("OK"), list({text("?")}), list({shard({number(0)}, master())}),
          list({shard({number(0), number(16384)}, master())}), list({shard({number(-1), number(5)}, master())}),
          list({shard({number(7), number(5)}, master())}), list({shard({text("0"), number(5)}, master())})}) {
        CHECK_FALSE(read_cluster_shards(reply, asked));
        CHECK_FALSE(read_cluster_slots(reply, asked));
    }
    CHECK_FALSE(read_cluster_slots(list({list({number(0), number(5), list({text("a"), number(70000)})})}), asked));
    // nothing at all is a cluster without slots
    CHECK(read_cluster_shards(list({}), asked)->covered() == 0);
}

TEST_CASE("a redirect changes one slot of the map", "[cluster]")
{
    SlotMap slots;
    slots.assign(0, 16383, {"a", 1});
    slots.assign(5, 5, {"b", 2});
    CHECK(owner_of(slots, 4) == ServerAddress{"a", 1});
    CHECK(owner_of(slots, 5) == ServerAddress{"b", 2});
    CHECK(owner_of(slots, 6) == ServerAddress{"a", 1});
    SlotMap other;
    other.assign(0, 16383, {"a", 1});
    CHECK_FALSE(slots == other);
    other.assign(5, 5, {"b", 2});
    CHECK(slots == other);
}

} // namespace tenure::test
