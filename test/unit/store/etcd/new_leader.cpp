// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// After an election a held key moves to a lease that the new leader has granted, so that nothing that an earlier one
// does to the leases it knew can end it. In virtual time, with a gateway that the test plays.
#include "key_holder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>

using namespace tenure;
using namespace tenure::test;

namespace
{

bool renewed(RenewReply const& reply)
{
    return std::holds_alternative<Renewed>(reply);
}

} // namespace

TEST_CASE("a key stays with its lease for as long as the leader stays", "[etcd]")
{
    KeyHolder gateway;
    for (int i = 0; i < 5; ++i) {
        CHECK(renewed(gateway.renew()));
        gateway.run_for(6s);
    }
    CHECK(gateway.lease_of_key == gateway.first_lease);
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("the renewal that shows another leader moves the key to a lease of that one, once", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    CHECK(renewed(gateway.renew()));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key != gateway.first_lease);
    CHECK(gateway.take("lease/grant") == 2);
    CHECK(gateway.take("lease/revoke") == 1); // the earlier one bears nothing

    auto const later = gateway.lease_of_key;
    for (int i = 0; i < 3; ++i) {
        gateway.run_for(6s);
        CHECK(renewed(gateway.renew()));
    }
    CHECK(gateway.lease_of_key == later);
    CHECK(gateway.take("lease/grant") == 0);
    CHECK(std::holds_alternative<Released>(gateway.release()));
    CHECK(gateway.lease_of_key.empty());
}

TEST_CASE("a lease whose grant was asked for before the election moves too", "[etcd]")
{
    EtcdGateway gateway;
    gateway.release(gateway.claim());
    gateway.run_for(11s); // the spare one is given up
    // any member may answer, but the grant may have been the earlier leader's
    elect(gateway, 3);
    auto const claim = gateway.held(gateway.claim());
    auto const earlier = gateway.lease_of_key;
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key != earlier);
}

TEST_CASE("a move whose answer is lost is found by a later renewal", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    gateway.mute = true;
    CHECK(renewed(gateway.renew()));
    gateway.run_for(6s);
    REQUIRE(gateway.lease_of_key != gateway.first_lease);
    auto const later = gateway.lease_of_key;
    gateway.mute = false;
    // the keep-alive was for the earlier lease, so this counts from the grant of the one that the key bears
    auto const now = gateway.runtime->now();
    auto const first = gateway.renew();
    REQUIRE(renewed(first));
    CHECK(std::get<Renewed>(first).since <= now - 6s);
    auto const second = gateway.renew();
    REQUIRE(renewed(second));
    CHECK(std::get<Renewed>(second).since >= now);
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key == later);
    CHECK(std::holds_alternative<Released>(gateway.release()));
}

TEST_CASE("a holder relies only on the remaining time of the key if it moves late", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    gateway.withheld = "request_put";
    auto const before_grant = gateway.runtime->now();
    CHECK(renewed(gateway.renew()));
    gateway.run_for(10ms);
    auto const after_grant = gateway.runtime->now();
    REQUIRE(gateway.take("lease/grant") == 2);

    // the put may still come, and its lease counts from its grant
    gateway.run_for(300ms);
    auto const second = gateway.renew();
    REQUIRE(renewed(second));
    CHECK(std::get<Renewed>(second).since >= before_grant);
    CHECK(std::get<Renewed>(second).since <= after_grant);
    CHECK(failed_as(gateway.renew(), Failure::Effect::unknown));

    SECTION("it comes late, and is found by whoever looks then")
    {
        gateway.on_request = [&](std::string const& path) {
            if (path == "kv/txn" && !gateway.withheld.empty())
                gateway.let_go();
        };
        auto const third = gateway.renew();
        CHECK(gateway.lease_of_key != gateway.first_lease);
        REQUIRE(renewed(third));
        CHECK(std::get<Renewed>(third).since <= after_grant);
    }
    SECTION("the next renewal makes another move, and then it has no effect")
    {
        gateway.withheld = "nothing";
        // the client leaves the connection that has not answered, and uses another one by now
        gateway.run_for(5s);
        auto const now = gateway.runtime->now();
        auto const third = gateway.renew();
        REQUIRE(renewed(third));
        CHECK(std::get<Renewed>(third).since >= now);
        auto const moved_to = gateway.lease_of_key;
        CHECK(moved_to != gateway.first_lease);
        gateway.let_go();
        gateway.run_for(10ms);
        CHECK(gateway.lease_of_key == moved_to);
    }
    SECTION("it comes before the next move, whose lease has no use then")
    {
        gateway.run_for(5s);
        gateway.begin_renewal(gateway.claimed, EtcdGateway::ttl);
        REQUIRE(gateway.take("lease/grant") == 1);
        gateway.let_go();
        auto const moved_to = gateway.lease_of_key;
        CHECK(moved_to != gateway.first_lease);
        gateway.run_for(10ms);
        CHECK(gateway.lease_of_key == moved_to);
    }
    auto const now = gateway.runtime->now();
    auto const last = gateway.renew();
    REQUIRE(renewed(last));
    CHECK(std::get<Renewed>(last).since >= now);
}

TEST_CASE("a renewal that cannot make an open move void is worth what that one leaves of it", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    gateway.withheld = "request_put";
    CHECK(renewed(gateway.renew()));
    gateway.run_for(10ms);
    auto const after_grant = gateway.runtime->now();
    gateway.run_for(6s);
    auto const began = gateway.runtime->now();
    gateway.withheld = "lease/grant";
    std::optional<RenewReply> reply;
    renew_one(*gateway.backend, {gateway.claimed, EtcdGateway::ttl, began + 5s}, [&](RenewReply answer) {
        reply = std::move(answer);
    });
    gateway.run_for(1s);
    CHECK_FALSE(reply);
    gateway.run_for(12s);
    REQUIRE(reply);
    REQUIRE(renewed(*reply));
    CHECK(std::get<Renewed>(*reply).since <= after_grant);
}

TEST_CASE("a move to a shorter lease that is still open is made void by another one", "[etcd]")
{
    KeyHolder gateway;
    gateway.withheld = "request_put";
    gateway.begin_renewal(gateway.claimed, 5s);
    gateway.withheld = "nothing";
    auto const now = gateway.runtime->now();
    auto const reply = gateway.renew();
    REQUIRE(renewed(reply));
    CHECK(std::get<Renewed>(reply).since >= now);
    auto const moved_to = gateway.lease_of_key;
    gateway.let_go();
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key == moved_to);
}

TEST_CASE("a renewal with another ttl, shorter or longer, moves the key", "[etcd]")
{
    KeyHolder gateway;
    auto bears = gateway.lease_of_key;
    for (auto const ttl : {5s, 60s}) {
        gateway.run_for(1s);
        auto const now = gateway.runtime->now();
        auto const reply = gateway.renew(gateway.claimed, ttl);
        REQUIRE(renewed(reply));
        CHECK(std::get<Renewed>(reply).ttl == ttl);
        CHECK(std::get<Renewed>(reply).since >= now);
        CHECK(std::exchange(bears, gateway.lease_of_key) != gateway.lease_of_key);
    }
}

TEST_CASE("a shorter lease that was granted slowly is not used when its holder has asked for more since", "[etcd]")
{
    KeyHolder gateway;
    gateway.withheld = "lease/grant";
    gateway.begin_renewal(gateway.claimed, 5s);
    CHECK(renewed(gateway.renew()));
    gateway.let_go();
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key == gateway.first_lease);
    CHECK(gateway.take("lease/revoke") == 1);
}

TEST_CASE("a lease that was granted too slowly for what is counted on by then is not used", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    gateway.withheld = "lease/grant";
    CHECK(renewed(gateway.renew()));
    gateway.run_for(300ms);
    auto const now = gateway.runtime->now();
    auto const second = gateway.renew();
    REQUIRE(renewed(second));
    CHECK(std::get<Renewed>(second).since >= now);
    gateway.let_go();
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key == gateway.first_lease);
    CHECK(gateway.take("lease/revoke") == 1);
    // a later renewal tries again, but not soon
    gateway.run_for(6s);
    CHECK(renewed(gateway.renew()));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key == gateway.first_lease);
    gateway.run_for(EtcdGateway::ttl);
    CHECK(renewed(gateway.renew()));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key != gateway.first_lease);
}

TEST_CASE("a key that is released while it moves is released, and leaves no lease behind", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    SECTION("before it is put")
    {
        gateway.on_request = [&](std::string const& path) {
            if (path == "lease/grant")
                gateway.claimed->mark.ended = true;
        };
        CHECK(renewed(gateway.renew()));
        gateway.run_for(10ms);
        CHECK(gateway.last_transaction.find("request_put") == std::string::npos);
        CHECK(std::holds_alternative<Released>(gateway.release()));
        // the one that was granted for nothing
        CHECK(gateway.take("lease/revoke") == 1);
    }
    SECTION("when nobody has heard whether it was put")
    {
        gateway.mute = true;
        CHECK(renewed(gateway.renew()));
        gateway.run_for(100ms);
        gateway.claimed->mark.ended = true;
        CHECK(std::holds_alternative<Released>(gateway.release()));
        gateway.run_for(10ms);
        CHECK(gateway.take("lease/revoke") == 2);
    }
    CHECK(gateway.lease_of_key.empty());
}

TEST_CASE("an evicted key stays as long as a renewal just before the exchange would have kept it", "[etcd]")
{
    EtcdGateway gateway;
    static_cast<void>(gateway.claim());
    auto const reply = gateway.evict();
    REQUIRE(std::holds_alternative<Evicted>(reply));
    CHECK(std::get<Evicted>(reply).remaining >= EtcdGateway::ttl);
    gateway.run_for(10ms);
    CHECK(gateway.take("lease/keepalive") == 0);
}

TEST_CASE("the lease of an evicted key begins anew where the exchange came late", "[etcd]")
{
    EtcdGateway gateway;
    static_cast<void>(gateway.claim());
    gateway.on_request = [&](std::string const& path) {
        // the former holder may have renewed meanwhile
        if (path == "kv/txn")
            gateway.runtime->skip(1500ms);
    };
    REQUIRE(std::holds_alternative<Evicted>(gateway.evict()));
    gateway.run_for(10ms);
    CHECK(gateway.take("lease/keepalive") == 1);
}

TEST_CASE("an eviction of a key that changes meanwhile looks at it again", "[etcd]")
{
    EtcdGateway gateway;
    static_cast<void>(gateway.claim());
    int looks = 0;
    gateway.on_request = [&](std::string const& path) {
        if (path == "lease/timetolive" && ++looks == 1)
            gateway.touch();
    };
    CHECK(std::holds_alternative<Evicted>(gateway.evict()));
    CHECK(looks == 2);
}
