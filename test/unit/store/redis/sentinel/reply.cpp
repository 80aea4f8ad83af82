// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Replies of sentinels, and their interpretation.
#include "store/redis/sentinel/sentinel_reply.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace tenure::redis;
using resp::Type;
using resp::Value;

namespace
{

Value fields(std::vector<std::pair<std::string, std::string>> const& pairs, Type type = Type::map)
{
    std::vector<Value> elements;
    for (auto const& [name, value] : pairs) {
        elements.push_back(Value::text(name));
        elements.push_back(Value::text(value));
    }
    return Value::list(type, std::move(elements));
}

Value state_of(std::string const& flags, std::string const& port = "7001", Type type = Type::map)
{
    return fields(
        {{"name", "mymaster"},
         {"ip", "10.0.0.1"},
         {"port", port},
         {"flags", flags},
         {"config-epoch", "3"},
         {"num-other-sentinels", "2"}},
        type);
}

Value address_of(std::string const& host, std::string const& port)
{
    return Value::list(Type::array, {Value::text(host), Value::text(port)});
}

} // namespace

TEST_CASE("a sentinel's view of the master is read from a map and from the array of RESP2", "[redis][sentinel]")
{
    auto const type = GENERATE(Type::map, Type::array);
    auto const report = read_master(state_of("master", "7001", type), address_of("10.0.0.1", "7001"));
    REQUIRE(report);
    CHECK(report->address == ServerAddress{"10.0.0.1", 7001});
    CHECK(report->config_epoch == 3);
    CHECK(report->sentinels == 3);
    CHECK_FALSE(report->subjectively_down);
    CHECK_FALSE(report->objectively_down);
}

TEST_CASE("flags are read as words", "[redis][sentinel]")
{
    auto const [flags, subjective, objective] = GENERATE(table<std::string, bool, bool>(
        {{"master,s_down", true, false},
         {"s_down,master,o_down,disconnected", true, true},
         {"master,o_down", false, true},
         {"master,no_s_down,s_downs", false, false},
         {"", false, false}}));
    CAPTURE(flags);
    auto const report = read_master(state_of(flags), address_of("10.0.0.1", "7001"));
    REQUIRE(report);
    CHECK(report->subjectively_down == subjective);
    CHECK(report->objectively_down == objective);
}

TEST_CASE("a replica that was promoted a moment ago is the master, and its predecessor's flags are not its own")
{
    auto const report = read_master(state_of("master,s_down,o_down"), address_of("10.0.0.2", "7002"));
    REQUIRE(report);
    CHECK(report->address == ServerAddress{"10.0.0.2", 7002});
    CHECK_FALSE(report->subjectively_down);
    CHECK_FALSE(report->objectively_down);
}

TEST_CASE("a malformed reply is not taken for an address or a master", "[redis][sentinel]")
{
    CHECK_FALSE(read_master_address(Value()));
    CHECK_FALSE(read_master_address(Value::text("10.0.0.1 7001")));
    for (auto const& [host, port] : std::vector<std::pair<std::string, std::string>>{
             {"", "7001"},
             {"10.0.0.1", ""},
             {"10.0.0.1", "0"},
             {"10.0.0.1", "65536"},
             {"10.0.0.1", "-1"},
             {"10.0.0.1", "7001x"},
             {"host name", "7001"},
             {"host\n", "7001"},
             {std::string(254, 'x'), "7001"}}) {
        CAPTURE(host, port);
        CHECK_FALSE(read_master_address(address_of(host, port)));
    }
    CHECK_FALSE(read_master(Value(), address_of("10.0.0.1", "7001")));
    CHECK_FALSE(read_master(state_of("master", "none"), Value()));
    CHECK_FALSE(read_master(
        fields({{"ip", "h"}, {"port", "1"}, {"config-epoch", "-1"}, {"num-other-sentinels", "0"}}), Value()));
    // an odd number of elements
    CHECK_FALSE(read_master(Value::list(Type::array, {Value::text("ip")}), Value()));
    // without an answer to the second question the first one's address counts
    CHECK(read_master(state_of("master"), Value())->address == ServerAddress{"10.0.0.1", 7001});
}

TEST_CASE("other sentinels are read, as many as are wanted and only those that make sense", "[redis][sentinel]")
{
    auto const entry = [](std::string const& host, std::string const& id) {
        return fields({{"name", id}, {"ip", host}, {"port", "26379"}, {"runid", id}});
    };
    auto const reply = Value::list(Type::array, {entry("a", "1"), entry("", "2"), Value::text("c"), entry("d", "4")});
    CHECK(read_sentinels(reply, 10) == std::vector<SentinelEntry>{{{"a", 26379}, "1"}, {{"d", 26379}, "4"}});
    CHECK(read_sentinels(reply, 1).size() == 1);
    CHECK(read_sentinels(Value::error("NOPERM no"), 10).empty());
}

TEST_CASE("news of a switch is read, and nothing else is taken for it", "[redis][sentinel]")
{
    auto const switched = read_switched_master("mymaster 10.0.0.1 7001 10.0.0.2 7002");
    REQUIRE(switched);
    CHECK(switched->name == "mymaster");
    CHECK(switched->to == ServerAddress{"10.0.0.2", 7002});
    for (auto const* message :
         {"", "mymaster", "mymaster 10.0.0.1 7001 10.0.0.2", "mymaster 10.0.0.1 7001 10.0.0.2 0",
          "mymaster 10.0.0.1 7001 10.0.0.2 7002 more", " 10.0.0.1 7001 10.0.0.2 7002"}) {
        CAPTURE(message);
        CHECK_FALSE(read_switched_master(message));
    }
}
