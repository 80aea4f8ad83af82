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

TEST_CASE("leases that a keep-alive request has not reached are kept by further requests", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    gateway.leases_per_request = 2;
    gateway.withheld = "lease/keepalive";
    std::vector<RenewRequest> requests;
    for (int i = 0; i < 7; ++i) {
        auto held = std::make_shared<etcd::HeldKey>(etcd::held_key_of(*claim));
        held->lease = std::make_shared<etcd::Lease>(*held->lease);
        // the gateway knows one key, whose lease the others are told to have
        held->lease->id += i;
        auto const copy = std::make_shared<Claim>();
        copy->range = claim->range;
        copy->owner = claim->owner;
        copy->handle = std::move(held);
        requests.push_back({copy, EtcdGateway::ttl, gateway.runtime->now() + 5s});
    }
    auto const replies = renew_together(*gateway.backend, std::move(requests));
    gateway.run_for(10ms);
    gateway.let_go();
    gateway.run_for(100ms);
    for (auto const& reply : replies) {
        REQUIRE(reply->has_value());
        CHECK(std::holds_alternative<Renewed>(**reply));
    }
    CHECK(gateway.take("lease/keepalive") == 4);
    CHECK(gateway.kept_together == 2);
}

TEST_CASE("an error in place of the first answer fails all renewals of a request", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    gateway.leases_per_request = 0;
    CHECK(failed_as(gateway.renew(claim), Failure::Effect::unknown));
    CHECK(gateway.take("lease/keepalive") == 1);
}

TEST_CASE("a renewal that is repeated while it is unsent is sent once", "[etcd]")
{
    EtcdGateway gateway(1);
    auto const claim = gateway.held(gateway.claim());
    gateway.withheld = "kv/range";
    gateway.backend->ready(gateway.runtime->now() + 5s, [](auto const&) {});
    gateway.run_for(10ms);
    auto const request = RenewRequest{claim, EtcdGateway::ttl, gateway.runtime->now() + 5s};
    auto const replies = renew_together(*gateway.backend, {request, request});
    gateway.run_for(10ms);
    gateway.let_go();
    gateway.run_for(20ms);
    for (auto const& reply : replies) {
        REQUIRE(reply->has_value());
        CHECK(std::holds_alternative<Renewed>(**reply));
    }
    CHECK(gateway.take("lease/keepalive") == 1);
    CHECK(gateway.kept_together == 1);
}

TEST_CASE("a proof asks a majority: it reads a key, and compares the last change of each", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = gateway.held(gateway.claim());
    CHECK(std::holds_alternative<Renewed>(gateway.renew(claim)));
    CHECK(
        gateway.last_transaction == R"({"compare":[{"key":"bG9jaw==","target":"MOD","mod_revision":"7"}],)"
                                    R"("success":[{"request_range":{"key":"bG9jaw==","keys_only":true}}]})");
    gateway.touch();
    CHECK(std::holds_alternative<NotOwner>(gateway.renew(claim)));
}
