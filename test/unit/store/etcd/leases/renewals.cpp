// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals that are proven together. In virtual time, with a gateway that the test plays.
#include "harness/expect_failure.hpp"
#include "unit/store/etcd/gateway.hpp"

#include "store/etcd/leases/leases.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;

TEST_CASE("a key that may no longer be read costs its own renewal, and no other that is proven with it", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    // the gateway shows one key in place of any
    auto const other = [&](char const* name) {
        auto const copy = std::make_shared<Claim>();
        copy->range = named_key(name);
        copy->owner = claim->owner;
        copy->handle = std::make_shared<etcd::HeldKey>(etcd::held_key_of(*claim));
        return ClaimPtr(copy);
    };
    gateway.forbidden = "forbidden";
    gateway.withheld = "lease/keepalive";
    std::vector<RenewRequest> requests;
    for (auto const& one : {claim, other("first"), other("second"), other("third"), other("forbidden")})
        requests.push_back({one, EtcdGateway::ttl, gateway.runtime->now() + 5s});
    auto const replies = renew_together(*gateway.backend, std::move(requests));
    gateway.run_for(10ms);
    gateway.let_go(); // so they are proven together
    gateway.run_for(100ms);
    for (std::size_t i = 0; i < 4; ++i) {
        REQUIRE(replies[i]->has_value());
        CHECK(std::holds_alternative<Renewed>(**replies[i]));
    }
    REQUIRE(replies[4]->has_value());
    CHECK(expect_refused(**replies[4]).error == errc::permission_denied);
}
