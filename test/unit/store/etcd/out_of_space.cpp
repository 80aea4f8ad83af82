// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A member that has no space left looks at it twice: before it proposes a write, and when it has carried one out, which
// it then refuses in the same words. In virtual time, with a gateway that the test plays.
#include "key_holder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <variant>

using namespace tenure;
using namespace tenure::test;

TEST_CASE("a claim that was refused for want of space may have the key, and its lease serves nobody else", "[etcd]")
{
    EtcdGateway gateway;
    gateway.out_of_space = true;
    auto again = gateway.request("me/1");
    again.earliest_attempt = gateway.runtime->now();
    REQUIRE(failed_as(gateway.claim(gateway.request("me/1")), Failure::Effect::unknown));
    gateway.out_of_space = false;
    REQUIRE(std::holds_alternative<Granted>(gateway.claim(again)));
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(std::holds_alternative<Busy>(gateway.claim(gateway.request("me/2"))));
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("the lease of a move that was refused for want of space is not revoked under the key", "[etcd]")
{
    KeyHolder gateway;
    elect(gateway, 3);
    gateway.out_of_space = true;
    CHECK(std::holds_alternative<Renewed>(gateway.renew()));
    gateway.run_for(10ms);
    REQUIRE(gateway.lease_of_key != gateway.first_lease);
    CHECK(gateway.take("lease/revoke") == 0);
    gateway.out_of_space = false;
    // found on the lease that it has moved to
    CHECK(std::holds_alternative<Renewed>(gateway.renew()));
    CHECK(std::holds_alternative<Released>(gateway.release()));
}
