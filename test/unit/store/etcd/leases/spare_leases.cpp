// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The request of a release, and the server's lease after it: from when it counts for the next claim, and when it is
// given up. In virtual time, with a gateway that the test plays.
#include "unit/store/etcd/gateway.hpp"

#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <variant>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** The key was released, and its lease is kept for the next claim. */
struct SpareLease : EtcdGateway {
    /** @param age  how long it has been spare */
    explicit SpareLease(std::chrono::milliseconds age = 0ms)
    {
        release(claim());
        run_for(age);
    }
};

} // namespace

TEST_CASE("a young lease serves the next claim as it is, and counts from its grant", "[etcd]")
{
    EtcdGateway gateway;
    auto const first = gateway.claim();
    CHECK(gateway.take("lease/grant") == 1);
    gateway.release(first);
    gateway.run_for(500ms);
    auto const second = gateway.claim();
    CHECK(second.since == first.since);
    CHECK(gateway.take("lease/grant") == 0);
    CHECK(gateway.take("lease/keepalive") == 0);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("a claim that comes too late for a lease that is there is not answered inside of its call", "[etcd]")
{
    SpareLease gateway;
    auto late = gateway.request("me/2");
    late.not_after = gateway.runtime->now();
    bool inside = true;
    std::optional<bool> answered_inside;
    gateway.backend->claim(late, [&](ClaimReply const& reply) {
        CHECK(failed_as(reply, Failure::Effect::not_sent));
        answered_inside = inside;
    });
    inside = false;
    gateway.run_for(10ms);
    CHECK(answered_inside == false);
}

TEST_CASE("an older lease serves the next claim after a keep-alive, and counts from there", "[etcd]")
{
    EtcdGateway gateway;
    auto grant = gateway.claim();
    for (int i = 0; i < 5; ++i) {
        gateway.release(grant);
        gateway.run_for(9s);
        auto const before = gateway.runtime->now();
        grant = gateway.claim();
        CHECK(grant.since >= before);
        CHECK(grant.since <= gateway.runtime->now());
        CHECK(gateway.take("lease/keepalive") == 1);
    }
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("with a quarantine a spare lease is young for a twentieth of the ttl, not of its own length", "[etcd]")
{
    EtcdGateway gateway;
    auto const claim = [&] {
        auto request = gateway.request("me/1");
        request.reuse_after = 600s;
        return std::get<Granted>(gateway.claim(request));
    };
    auto const first = claim();
    CHECK(first.ttl == EtcdGateway::ttl);
    gateway.release(first);
    gateway.run_for(500ms);
    auto const second = claim();
    CHECK(second.since == first.since);
    gateway.release(second);
    gateway.run_for(2s);
    auto const before = gateway.runtime->now();
    CHECK(claim().since >= before);
    CHECK(gateway.take("lease/keepalive") == 1);
    CHECK(gateway.take("lease/grant") == 1);
}

TEST_CASE("a keep-alive that a leader of another term has answered does not count", "[etcd]")
{
    EtcdGateway gateway;
    auto const first = gateway.claim();
    gateway.release(first);
    gateway.run_for(6s);
    gateway.term_of_transactions = 3;
    auto const second = gateway.claim();
    CHECK(gateway.take("lease/keepalive") == 1);
    CHECK(second.since == first.since);
}

TEST_CASE("a spare lease that was granted before another leader was elected is not used", "[etcd]")
{
    EtcdGateway gateway;
    auto const grant = gateway.claim();
    gateway.term_of_transactions = gateway.term_of_grants = gateway.term_of_keep_alives = 3;
    gateway.release(grant);
    // the answer to a release is not looked at for its term, that to the next claim is
    gateway.release(gateway.claim());
    CHECK(gateway.take("lease/grant") == 1);
    gateway.release(gateway.claim());
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 1);
    gateway.release(gateway.claim());
    CHECK(gateway.take("lease/grant") == 0);
}

TEST_CASE("the lease of a key that a second attempt finds is not spare when the first one ends at last", "[etcd]")
{
    EtcdGateway gateway;
    gateway.mute = true;
    bool first_ended = false;
    gateway.backend->claim(gateway.request("me/1"), [&](ClaimReply const&) { first_ended = true; });
    gateway.run_for(10ms);
    REQUIRE_FALSE(gateway.lease_of_key.empty());
    gateway.mute = false;
    auto again = gateway.request("me/1");
    again.earliest_attempt = gateway.runtime->now();
    REQUIRE(std::holds_alternative<Granted>(gateway.claim(again)));
    gateway.run_for(12s);
    REQUIRE(first_ended);
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
    // another one that wants the key has to have a lease of its own
    CHECK(std::holds_alternative<Busy>(gateway.claim(gateway.request("me/2"))));
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/keepalive") == 0);
}

TEST_CASE("a spare lease that the server no longer knows is replaced", "[etcd]")
{
    SpareLease gateway(6s);
    CHECK(gateway.take("lease/grant") == 1);
    gateway.forgotten = true;
    auto const before = gateway.runtime->now();
    CHECK(gateway.claim().since >= before);
    CHECK(gateway.take("lease/keepalive") == 1);
    CHECK(gateway.take("lease/grant") == 1);
}

TEST_CASE("an unused spare lease is revoked at half its ttl", "[etcd]")
{
    SpareLease gateway(9500ms);
    CHECK(gateway.take("lease/revoke") == 0);
    gateway.run_for(1s);
    CHECK(gateway.take("lease/revoke") == 1);
    // and surely not used again
    static_cast<void>(gateway.claim());
    CHECK(gateway.take("lease/grant") == 2);
}

TEST_CASE("a release compares the key's last change, unless it may have moved to another lease", "[etcd]")
{
    EtcdGateway gateway;
    auto const grant = gateway.claim();
    SECTION("the last change is known")
    {
        gateway.release(grant);
        CHECK(
            gateway.last_transaction == R"({"compare":[{"key":"bG9jaw==","target":"MOD","mod_revision":"7"}],)"
                                        R"("success":[{"request_delete_range":{"key":"bG9jaw=="}}]})");
    }
    SECTION("nobody knows whether a renewal has moved it")
    {
        gateway.mute = true;
        renew_one(
            *gateway.backend, {gateway.held(grant), 60s, gateway.runtime->now() + 5s},
            [](RenewReply const& reply) { CHECK_FALSE(std::holds_alternative<Renewed>(reply)); });
        gateway.run_for(10ms);
        REQUIRE(gateway.last_transaction.find("request_put") != std::string::npos);
        gateway.mute = false;
        gateway.release(grant);
        CHECK(
            gateway.last_transaction == R"({"compare":[{"key":"bG9jaw==","target":"CREATE","create_revision":"7"},)"
                                        R"({"key":"bG9jaw==","target":"VALUE","value":"bWUvMQ=="}],)"
                                        R"("success":[{"request_delete_range":{"key":"bG9jaw=="}}]})");
        // the lease of the key is unusable for later claims
        gateway.run_for(10ms);
        CHECK(gateway.take("lease/revoke") == 2);
    }
}
