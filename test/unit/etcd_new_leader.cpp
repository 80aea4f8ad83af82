// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// After an election a held key moves to a lease that the new leader has granted, so that nothing that an earlier one
// does to the leases it knew can end it. In virtual time, with a gateway that the test plays.
#include "etcd_gateway.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <variant>

using namespace tenure;
using namespace tenure::test;

namespace
{

void elect(EtcdGateway& gateway, int term)
{
    gateway.term_of_transactions = gateway.term_of_grants = gateway.term_of_keep_alives = term;
}

bool renewed(RenewReply const& reply)
{
    return std::holds_alternative<Renewed>(reply);
}

} // namespace

TEST_CASE("a key stays with its lease for as long as the leader stays", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    auto const lease = gateway.lease_of_key;
    for (int i = 0; i < 5; ++i) {
        CHECK(renewed(gateway.renew(claim)));
        gateway.run_for(6s);
    }
    CHECK(gateway.lease_of_key == lease);
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("the renewal that shows another leader moves the key to a lease of that one, once", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    auto const earlier = gateway.lease_of_key;
    elect(gateway, 3);
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key != earlier);
    CHECK(gateway.take("lease/grant") == 2);
    CHECK(gateway.take("lease/revoke") == 1); // the earlier one bears nothing

    auto const later = gateway.lease_of_key;
    for (int i = 0; i < 3; ++i) {
        gateway.run_for(6s);
        CHECK(renewed(gateway.renew(claim)));
    }
    CHECK(gateway.lease_of_key == later);
    CHECK(gateway.take("lease/grant") == 0);
    CHECK(std::holds_alternative<Released>(gateway.release(claim)));
    CHECK(gateway.lease_of_key.empty());
}

TEST_CASE("a lease whose grant was asked for before the election moves too", "[etcd]")
{
    EtcdGateway gateway;
    gateway.release(gateway.claim());
    gateway.run_for(11s); // the spare one is given up
    // the grant may have been the earlier leader's, whoever answers
    elect(gateway, 3);
    auto const claim = gateway.held(gateway.claim());
    auto const earlier = gateway.lease_of_key;
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key != earlier);
}

TEST_CASE("a move whose answer is lost is found by a later renewal", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    auto const earlier = gateway.lease_of_key;
    elect(gateway, 3);
    gateway.mute = true;
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(6s);
    REQUIRE(gateway.lease_of_key != earlier);
    auto const later = gateway.lease_of_key;
    gateway.mute = false;
    // the connection was given up with the request
    CHECK(std::holds_alternative<NotSent>(gateway.renew(claim)));
    gateway.run_for(10ms);
    // the keep-alive was for the earlier lease, so this proves nothing but where the key is
    CHECK(std::holds_alternative<Unknown>(gateway.renew(claim)));
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key == later);
    CHECK(std::holds_alternative<Released>(gateway.release(claim)));
}

TEST_CASE("nobody counts on more than what the key has left if it moves late", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    auto const earlier = gateway.lease_of_key;
    elect(gateway, 3);
    gateway.withheld = "request_put";
    auto const before_grant = gateway.runtime->now();
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(10ms);
    auto const after_grant = gateway.runtime->now();
    REQUIRE(gateway.take("lease/grant") == 2);

    // the put may still come, and its lease counts from its grant
    gateway.run_for(300ms);
    auto const second = gateway.renew(claim);
    REQUIRE(renewed(second));
    CHECK(std::get<Renewed>(second).since >= before_grant);
    CHECK(std::get<Renewed>(second).since <= after_grant);
    CHECK(std::holds_alternative<Unknown>(gateway.renew(claim)));

    SECTION("it comes late, and is found")
    {
        gateway.let_go();
        CHECK(gateway.lease_of_key != earlier);
    }
    SECTION("its place is taken by another move, and then it has no effect")
    {
        gateway.withheld = "nothing";
        gateway.run_for(2s);
        // a member that leaves a request unanswered for so long is left
        CHECK(std::holds_alternative<NotSent>(gateway.renew(claim)));
        gateway.run_for(10ms);
        CHECK(std::holds_alternative<Unknown>(gateway.renew(claim)));
        gateway.run_for(10ms);
        auto const moved_to = gateway.lease_of_key;
        CHECK(moved_to != earlier);
        gateway.let_go();
        CHECK(gateway.lease_of_key == moved_to);
    }
    auto const now = gateway.runtime->now();
    auto const last = gateway.renew(claim);
    REQUIRE(renewed(last));
    CHECK(std::get<Renewed>(last).since >= now);
}

TEST_CASE("a move to a shorter lease that is still open is made void by another one", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    gateway.withheld = "request_put";
    gateway.begin_renewal(claim, 5s);
    gateway.withheld = "nothing";
    // it would leave the key less than is counted on already
    CHECK(std::holds_alternative<Unknown>(gateway.renew(claim)));
    gateway.run_for(10ms);
    auto const moved_to = gateway.lease_of_key;
    CHECK(renewed(gateway.renew(claim)));
    gateway.let_go();
    CHECK(gateway.lease_of_key == moved_to);
}

TEST_CASE("a lease that was granted too slowly for what is counted on by then is not used", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    auto const earlier = gateway.lease_of_key;
    elect(gateway, 3);
    gateway.withheld = "lease/grant";
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(300ms);
    auto const now = gateway.runtime->now();
    auto const second = gateway.renew(claim);
    REQUIRE(renewed(second));
    CHECK(std::get<Renewed>(second).since >= now);
    gateway.let_go();
    CHECK(gateway.lease_of_key == earlier);
    CHECK(gateway.take("lease/revoke") == 1);
    // a later renewal tries again
    gateway.run_for(2s);
    CHECK(renewed(gateway.renew(claim)));
    gateway.run_for(10ms);
    CHECK(gateway.lease_of_key != earlier);
}

TEST_CASE("a key that is released while it moves is released, and leaves no lease behind", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    elect(gateway, 3);
    SECTION("before it is put")
    {
        gateway.on_request = [&](std::string const& path) {
            if (path == "lease/grant")
                claim->ended = true;
        };
        CHECK(renewed(gateway.renew(claim)));
        gateway.run_for(10ms);
        CHECK(gateway.last_transaction.find("request_put") == std::string::npos);
        CHECK(std::holds_alternative<Released>(gateway.release(claim)));
        // the one that was granted for nothing
        CHECK(gateway.take("lease/revoke") == 1);
    }
    SECTION("when nobody has heard whether it was put")
    {
        gateway.mute = true;
        CHECK(renewed(gateway.renew(claim)));
        gateway.run_for(100ms);
        claim->ended = true;
        CHECK(std::holds_alternative<Released>(gateway.release(claim)));
        gateway.run_for(10ms);
        CHECK(gateway.take("lease/revoke") == 2);
    }
    CHECK(gateway.lease_of_key.empty());
}
