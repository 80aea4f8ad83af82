// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/zookeeper_client.hpp"
#include "harness/zookeeper_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>

using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

ZookeeperServer& server()
{
    require_zookeeper();
    static ZookeeperServer alone;
    return alone;
}

} // namespace

TEST_CASE("a session that another client takes over and closes removes its nodes", "[zookeeper]")
{
    ZookeeperClient victim{server().port()};
    ZookeeperClient other{server().port()};
    REQUIRE(victim.create("/of-the-victim", "x", true));
    REQUIRE(other.create("/of-another", "x", true));
    {
        auto intruder = ZookeeperClient::in_session(server().port(), victim.session(), 60s);
        CHECK(intruder.session() == victim.session());
        CHECK(other.get("/of-the-victim"));
        intruder.close();
    }
    CHECK_FALSE(other.get("/of-the-victim"));
    CHECK(other.get("/of-another"));
    CHECK_THROWS_AS(victim.create("/of-the-victim", "x", true), std::exception);
    CHECK_THROWS_AS(ZookeeperClient::in_session(server().port(), victim.session(), 60s), std::exception);
}

TEST_CASE("a node is replaced in one step, if it is the one that was meant", "[zookeeper]")
{
    ZookeeperClient first{server().port()};
    ZookeeperClient second{server().port()};
    REQUIRE(first.create("/replaced", "first", true));
    auto const before = first.get("/replaced");
    CHECK_FALSE(second.replace("/replaced", "second", before->version + 1));
    CHECK(first.get("/replaced")->data == "first");
    CHECK(second.replace("/replaced", "second", before->version));
    auto const after = second.get("/replaced");
    CHECK(after->data == "second");
    CHECK(after->ephemeral_owner == second.session());
    CHECK(after->czxid > before->czxid);
    CHECK(after->version == 0);
    CHECK_FALSE(second.replace("/not-there", "second", 0));
    CHECK_FALSE(second.get("/not-there"));
}

TEST_CASE("nodes are read behind a write in one round trip", "[zookeeper]")
{
    ZookeeperClient client{server().port()};
    client.create_all("/mark");
    REQUIRE(client.create("/there", "content", true));
    auto const version = client.get("/mark")->version;
    auto const nodes = client.get_after_write("/mark", {"/there", "/not-there", "/there"});
    REQUIRE(nodes.size() == 3);
    CHECK(nodes[0]->data == "content");
    CHECK(nodes[0]->ephemeral_owner == client.session());
    CHECK_FALSE(nodes[1]);
    CHECK(nodes[2]->czxid == nodes[0]->czxid);
    CHECK(client.get("/mark")->version == version + 1);
    CHECK_THROWS_AS(client.get_after_write("/no-mark", {"/there"}), std::exception);
}

TEST_CASE("a client waits for an answer no longer than its limit, and is of no use afterwards", "[zookeeper]")
{
    ZookeeperClient client{server().port(), std::string(), 200ms};
    client.create_all("/mark");
    server().pause();
    auto const began = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(client.get_after_write("/mark", {}), std::exception);
    auto const took = std::chrono::steady_clock::now() - began;
    server().resume();
    CHECK(took >= 190ms);
    CHECK(took < 5s);
    // the answer that arrives now does not belong to the next request
    CHECK_THROWS_AS(client.get("/mark"), std::exception);
}
