// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Attempts of one owner: progress, the grant of an earlier attempt, and withdrawals. In virtual time, with a gateway
// that the test plays.
#include "gateway.hpp"

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <optional>
#include <variant>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** The answer to a claim that the test lets run. */
std::shared_ptr<std::optional<ClaimReply>> begin(EtcdGateway& gateway, ClaimRequest const& request)
{
    auto reply = std::make_shared<std::optional<ClaimReply>>();
    gateway.backend->claim(request, [reply](ClaimReply&& answer) { *reply = std::move(answer); });
    return reply;
}

bool granted(std::optional<ClaimReply> const& reply)
{
    return reply && std::holds_alternative<Granted>(*reply);
}

} // namespace

TEST_CASE("a claim reports progress when each of its steps is written and answered", "[etcd]")
{
    EtcdGateway gateway;
    auto const mark = std::make_shared<RequestMark>();
    auto request = gateway.request("me/1");
    request.not_after = Deadline(gateway.runtime->now() + 5s, mark);
    gateway.withheld = "lease/grant";
    auto const reply = begin(gateway, request);
    CHECK(mark->progressed == Instant{});
    gateway.run_for(5ms);
    auto const first_written = mark->progressed;
    CHECK(first_written != Instant{});
    gateway.run_for(5ms);
    CHECK(mark->progressed == first_written);

    gateway.let_go();
    gateway.withheld = "kv/txn";
    gateway.run_for(5ms);
    auto const second_written = mark->progressed;
    CHECK(second_written >= first_written + 5ms);
    gateway.run_for(5ms);
    CHECK(mark->progressed == second_written);

    gateway.let_go();
    gateway.run_for(5ms);
    CHECK(mark->progressed >= second_written + 5ms);
    CHECK(granted(*reply));
}

TEST_CASE("the grant of an earlier attempt is the owner's, also when a later attempt has begun", "[etcd]")
{
    EtcdGateway gateway;
    gateway.withheld = "/v3/kv/";
    auto const first = begin(gateway, gateway.request("me/1"));
    gateway.run_for(10ms);
    auto again = gateway.request("me/1");
    again.earliest_attempt = gateway.runtime->now();
    auto const second = begin(gateway, again);
    gateway.run_for(10ms);
    gateway.let_go();
    gateway.run_for(10ms);
    CHECK(granted(*first));
    // it looks for the first one's key, finds it or ends, and revokes nothing
    CHECK(second->has_value());
    CHECK_FALSE(failed_as(**second, Failure::Effect::unknown));
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
    CHECK(std::holds_alternative<Released>(gateway.release(gateway.held(std::get<Granted>(**first)))));
}

TEST_CASE("a grant is not the owner's if its lease is being revoked, or the owner was withdrawn", "[etcd]")
{
    EtcdGateway gateway;
    gateway.withheld = "/v3/kv/txn";
    auto const first = begin(gateway, gateway.request("me/1"));
    gateway.run_for(10ms);
    SECTION("a later attempt has found nothing")
    {
        auto again = gateway.request("me/1");
        again.earliest_attempt = gateway.runtime->now();
        static_cast<void>(begin(gateway, again));
        gateway.run_for(10ms);
        CHECK(gateway.take("lease/revoke") == 1);
    }
    SECTION("the owner was withdrawn")
    {
        gateway.backend->withdraw({gateway.request("").range, "me/1", gateway.runtime->now() + 5s}, [](auto const&) {});
        gateway.run_for(10ms);
        CHECK(gateway.take("lease/revoke") == 1);
    }
    gateway.let_go();
    gateway.run_for(10ms);
    REQUIRE(first->has_value());
    CHECK(failed_as(**first, Failure::Effect::unknown));
}

TEST_CASE("a withdrawal removes the unsent steps of its owner", "[etcd]")
{
    EtcdGateway gateway(1);
    // occupies the only connection
    gateway.withheld = "kv/range";
    gateway.backend->ready(gateway.runtime->now() + 5s, [](auto const&) {});
    auto const waits_for_connection = begin(gateway, gateway.request("me/1"));
    auto const waits_for_turn = begin(gateway, gateway.request("me/2"));
    gateway.run_for(10ms);
    for (char const* const owner : {"me/1", "me/2"})
        gateway.backend->withdraw({gateway.request("").range, owner, gateway.runtime->now() + 5s}, [](auto const&) {});
    gateway.runtime->run_ready();
    REQUIRE(waits_for_connection->has_value());
    CHECK(failed_as(**waits_for_connection, Failure::Effect::not_sent));
    gateway.let_go();
    gateway.run_for(20ms);
    REQUIRE(waits_for_turn->has_value());
    CHECK(failed_as(**waits_for_turn, Failure::Effect::not_sent));
    CHECK(gateway.take("lease/grant") == 0);
    CHECK(gateway.take("kv/txn") == 0);
}
