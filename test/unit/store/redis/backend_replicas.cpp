// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims and renewals that replicas must acknowledge: their commands, their connections, and the acknowledgements that
// count.
#include "harness/expect_failure.hpp"
#include "harness/renewals.hpp"
#include "unit/store/redis/backend_fixture.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using redis::ConnectionState;

namespace
{

struct ReplicasSetting : BackendFixture {
    ReplicasSetting()
        : BackendFixture(
              "7.0.15",
              {.name = "redis://fake:6379/0", .replicas = {.acknowledged_by = 2, .acknowledged_within = 50ms}})
    {
    }

    Answer<ClaimReply> claim(KeyRangePtr range, bool fencing = false)
    {
        return ask(&Backend::claim, claim_of(std::move(range), fencing));
    }
    [[nodiscard]] RenewRequest renewal(std::string const& key) const
    {
        return {held(named_key(key)), 3s, runtime->now() + 1s};
    }
    Answer<RenewReply> renew(std::string const& key) { return renew_one(*backend, renewal(key)); }
    /** A claim that was granted and acknowledged, and forgotten. */
    void connect()
    {
        auto const reply = claim(named_key("first"));
        runtime->run_ready();
        answer({Value::status("OK"), Value::integer(2)});
        REQUIRE(reply->has_value());
        connection().sent.clear();
    }
    /** The end of a claim whose WAIT gets this answer. */
    Unconfirmed unconfirmed_by(Value answer_to_wait)
    {
        auto const reply = claim(named_key("a"));
        runtime->run_ready();
        answer({Value::status("OK"), std::move(answer_to_wait)});
        return std::get<Unconfirmed>(reply->value());
    }
    void answer(std::vector<Value> replies)
    {
        for (auto& reply : replies)
            connection().answer(std::move(reply));
        runtime->run_ready();
    }
    [[nodiscard]] std::vector<std::string> commands()
    {
        std::vector<std::string> names;
        for (auto const& sent : connection().sent)
            names.push_back(sent.words.front());
        return names;
    }
    [[nodiscard]] FakeConnection& connection(std::size_t index = 0) { return *connections.made.at(index); }
};

Value held_key()
{
    return Value::list(redis::resp::Type::array, {Value::integer(-1), Value::integer(100), Value::integer(0)});
}

} // namespace

TEST_CASE("without replicas asked for nothing waits, and no second connection is made", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.backend = redis::make_backend(setting.runtime, setting.connections.factory(), {.name = "redis://fake"});
    auto const claimed = setting.claim(named_key("a"));
    auto const renewed = setting.renew("b");
    setting.runtime->run_ready();
    CHECK(setting.connections.made.size() == 1);
    CHECK(setting.commands() == Words{"SET", "EVALSHA"});
    setting.answer({Value::status("OK"), Value::text("1")});
    CHECK(std::holds_alternative<Granted>(claimed->value()));
    CHECK(std::holds_alternative<Renewed>(renewed->value()));
}

TEST_CASE("a claim counts once the replicas have it, from before it was written", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const reply = setting.claim(named_key("a"));
    setting.runtime->run_ready();
    REQUIRE(setting.connections.made.size() == 1);
    CHECK(setting.connection().purpose == "replicated");
    REQUIRE(setting.commands() == Words{"SET", "WAIT"});
    CHECK(setting.connection().sent[1].words == Words{"WAIT", "2", "50"});
    auto const since = setting.connection().sent[0].since;
    setting.runtime->run_for(20ms);
    setting.answer({Value::status("OK")});
    CHECK_FALSE(reply->has_value());
    setting.answer({Value::integer(GENERATE(2, 3))});
    REQUIRE(reply->has_value());
    CHECK(std::get<Granted>(**reply).since == since);
}

TEST_CASE("a claim that too few replicas have is not confirmed, and says what is missing", "[redis][replicas]")
{
    ReplicasSetting setting;
    bool const pool = GENERATE(true, false);
    auto const reply = pool ? setting.claim(numbered_keys("p", 2), true) : setting.claim(named_key("p1"));
    setting.runtime->run_ready();
    setting.answer(
        {pool ? Value::list(redis::resp::Type::array, {Value::integer(1), Value::text("17")}) : Value::status("OK")});
    setting.answer({Value::integer(1)});
    REQUIRE(reply->has_value());
    auto const& unconfirmed = std::get<Unconfirmed>(**reply);
    CHECK(unconfirmed.error == errc::not_replicated);
    CHECK_FALSE(unconfirmed.fatal);
    CHECK(unconfirmed.grant.index == (pool ? 1U : 0U));
    CHECK_THAT(
        unconfirmed.detail,
        ContainsSubstring("redis://fake:6379/0: p1: 1 of the 2 replicas asked for acknowledged it within 50 ms; "));
}

TEST_CASE("where all keys are held nobody minds the replicas", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const reply = setting.claim(numbered_keys("p", 2));
    setting.runtime->run_ready();
    setting.answer({held_key(), Value::integer(0)});
    CHECK(std::get<Busy>(reply->value()).earliest_expiry == 100ms);
}

TEST_CASE("releases, looks and evictions have a connection of their own", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.connect();
    auto const released =
        setting.ask(&Backend::release, ReleaseRequest{setting.held(named_key("a")), setting.runtime->now() + 1s, true});
    setting.runtime->run_ready();
    CHECK(setting.connection().sent.empty());
    REQUIRE(setting.connections.made.size() == 2);
    CHECK(setting.connection(1).purpose.empty());
    REQUIRE(setting.connection(1).sent.size() == 1);
    setting.connection(1).answer(Value::text("1"));
    CHECK(std::holds_alternative<Released>(released->value()));
}

TEST_CASE("a release or withdrawal over a connection that is not made yet is also announced", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.connect();
    auto claim = setting.held(named_key("a"));
    SECTION("a release")
    {
        setting.ask(&Backend::release, ReleaseRequest{std::move(claim), setting.runtime->now() + 1s, true});
    }
    SECTION("a withdrawal")
    {
        setting.ask(&Backend::withdraw, WithdrawRequest{claim->range, "me/1", setting.runtime->now() + 1s, true});
    }
    setting.runtime->run_ready();
    REQUIRE(setting.connections.made.size() == 2);
    REQUIRE(setting.connection(1).sent.size() == 1);
    CHECK(setting.connection(1).sent.front().words.at(3) == "{a}:waiting");
}

TEST_CASE("renewals that leave together share one WAIT, and without replicas extend nothing", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.connect();
    std::vector<RenewRequest> requests;
    for (int i = 0; i < 150; ++i)
        requests.push_back(setting.renewal("k" + std::to_string(i)));
    auto const replies = renew_together(*setting.backend, std::move(requests));
    setting.runtime->run_ready();
    REQUIRE(setting.commands() == Words{"EVALSHA", "EVALSHA", "WAIT"});
    // the last key has another owner, which is proven with any number of replicas
    setting.answer({Value::text(std::string(100, '1')), Value::text(std::string(49, '1') + "0")});
    auto const count = GENERATE(1, 2);
    setting.answer({Value::integer(count)});
    for (std::size_t i = 0; i + 1 < replies.size(); ++i) {
        REQUIRE(replies[i]->has_value());
        REQUIRE(std::holds_alternative<Renewed>(**replies[i]) == (count == 2));
    }
    if (count == 1) {
        auto const& unknown = expect_unknown(**replies.front());
        CHECK(unknown.error == errc::not_replicated);
        CHECK_THAT(
            unknown.detail, ContainsSubstring("redis://fake:6379/0: k0: the renewal does not count: 1 of the 2"));
    }
    CHECK(std::holds_alternative<NotOwner>(replies.back()->value()));
}

TEST_CASE("a single renewal by a native command waits for replicas too", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.connections.info.server = "valkey";
    setting.connections.info.version = "8.1.0";
    setting.connect();
    auto const reply = setting.renew("a");
    setting.runtime->run_ready();
    REQUIRE(setting.commands() == Words{"SET", "WAIT"});
    setting.answer({Value::status("OK"), Value::integer(0)});
    CHECK(expect_unknown(reply->value()).error == errc::not_replicated);
}

TEST_CASE("requests that come while one WAIT is awaited share the next", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.connect();
    std::vector<ReplicasSetting::Answer<ClaimReply>> replies;
    for (auto const* const key : {"a", "b", "c", "d"}) {
        replies.push_back(setting.claim(named_key(key)));
        setting.runtime->run_ready();
    }
    CHECK(setting.commands() == Words{"SET", "WAIT", "SET", "SET", "SET"});
    setting.answer({Value::status("OK"), Value::integer(2)});
    CHECK(std::holds_alternative<Granted>(replies[0]->value()));
    CHECK(setting.commands() == Words{"SET", "WAIT", "SET", "SET", "SET", "WAIT"});
    setting.answer({Value::status("OK"), Value::status("OK"), Value::status("OK")});
    CHECK_FALSE(replies[1]->has_value());
    setting.answer({Value::integer(1)});
    for (std::size_t i = 1; i < replies.size(); ++i)
        CHECK(std::holds_alternative<Unconfirmed>(replies[i]->value()));
    setting.runtime->run_for(1s);
    CHECK(setting.connection().unanswered() == 0);
}

TEST_CASE("a count from another connection than the claim's says nothing about it", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const reply = setting.claim(named_key("a"));
    setting.runtime->run_ready();
    setting.answer({Value::status("OK")});
    setting.connection().become(ConnectionState::connecting);
    setting.connection().become(ConnectionState::ready);
    setting.answer({Value::integer(2)});
    auto const& unknown = expect_unknown(reply->value());
    CHECK(unknown.error == errc::store_unavailable);
    CHECK_THAT(
        unknown.detail, ContainsSubstring("the connection was lost before the replicas that have it were counted"));
}

TEST_CASE("a user that may not wait is told the permission", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const unconfirmed =
        setting.unconfirmed_by(Value::error("NOPERM this user has no permissions to run the 'wait' command"));
    CHECK(unconfirmed.error == errc::permission_denied);
    CHECK(unconfirmed.fatal);
    CHECK_THAT(unconfirmed.detail, ContainsSubstring("grant +wait"));
}

TEST_CASE("a proxy that refuses WAIT ends the claim with the option that needs it", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const unconfirmed = setting.unconfirmed_by(Value::error("ERR unknown command 'WAIT'"));
    CHECK(unconfirmed.error == errc::wrong_server);
    CHECK(unconfirmed.fatal);
    CHECK_THAT(unconfirmed.detail, ContainsSubstring("refuses WAIT, which replicas="));
}

TEST_CASE("a refused claim is told at once, and a script sent again has a WAIT of its own", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const refused = setting.claim(numbered_keys("p", 2), true);
    setting.runtime->run_ready();
    setting.answer({Value::error("NOSCRIPT No matching script. Please use EVAL.")});
    CHECK(setting.commands() == Words{"EVALSHA", "WAIT", "EVAL"});
    setting.answer({Value::integer(2)});
    CHECK(setting.commands() == Words{"EVALSHA", "WAIT", "EVAL", "WAIT"});
    setting.answer({Value::error("OOM command not allowed when used memory > 'maxmemory'.")});
    CHECK(expect_refused(refused->value()).error == errc::store_refused);
}

TEST_CASE("a count that makes no sense is not believed", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const reply = setting.claim(named_key("a"));
    setting.runtime->run_ready();
    setting.answer({Value::status("OK"), GENERATE(Value::status("OK"), Value::integer(-1), Value())});
    CHECK(expect_unknown(reply->value()).error == errc::protocol_error);
    CHECK(setting.connection().invalidated);
}

TEST_CASE("a WAIT on a silent connection holds up nobody on the second", "[redis][replicas]")
{
    ReplicasSetting setting;
    setting.backend->shortest_ttl(3s);
    setting.connect();
    auto const stuck = setting.claim(named_key("a"));
    setting.runtime->run_ready();
    // a sixth of the ttl, and what a WAIT may take
    setting.runtime->run_for(540ms);
    REQUIRE(setting.connections.made.size() == 1);
    setting.runtime->run_for(500ms);
    REQUIRE(setting.connections.made.size() == 2);
    CHECK(setting.connection(1).purpose == "replicated, second");
    auto const reply = setting.claim(named_key("b"));
    setting.runtime->run_ready();
    REQUIRE(setting.connection(1).sent.size() == 2);
    CHECK(setting.connection(1).sent[1].words.front() == "WAIT");
    setting.connection(1).answer(Value::status("OK"));
    setting.connection(1).answer(Value::integer(2));
    CHECK(std::holds_alternative<Granted>(reply->value()));
    CHECK_FALSE(stuck->has_value());
}

TEST_CASE("a store that is closed leaves nobody waiting for replicas", "[redis][replicas]")
{
    ReplicasSetting setting;
    auto const answered = setting.claim(named_key("a"));
    auto const unanswered = setting.claim(named_key("b"));
    setting.runtime->run_ready();
    setting.answer({Value::status("OK")});
    setting.backend->shutdown();
    setting.runtime->run_ready();
    CHECK(expect_unknown(answered->value()).error == errc::closed);
    CHECK(expect_unknown(unanswered->value()).error == errc::closed);
}
