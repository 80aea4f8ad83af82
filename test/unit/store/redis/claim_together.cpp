// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/expect_failure.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include "store/redis/claim/claim.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using redis::ConnectionState;
using redis::resp::Type;
using redis::resp::Value;
using Words = std::vector<std::string>;

namespace
{

Value time_of(std::string seconds, std::string microseconds)
{
    return Value::list(Type::array, {Value::text(std::move(seconds)), Value::text(std::move(microseconds))});
}

struct ClaimTogetherSetting {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeConnections connections{runtime, {}};
    std::shared_ptr<redis::HedgedLink> link = std::make_shared<redis::HedgedLink>(runtime, connections.factory());
    redis::ServerPtr node =
        std::make_shared<redis::ServerContext>(runtime, link, redis::ServerSettings{"redis://fake:6379/0"});
    std::optional<ClaimReply> reply;

    ClaimTogetherSetting() = default;
    ~ClaimTogetherSetting()
    {
        link->close();
        runtime->run_ready();
    }

    void claim(bool fencing = true, std::optional<Instant> earliest_attempt = {})
    {
        redis::claim_vote(
            node, {named_key("job"), "me/1", 3s, runtime->now() + 10s, fencing, earliest_attempt},
            [this](ClaimReply answer) { reply = std::move(answer); });
        CHECK_FALSE(reply);
        runtime->run_ready();
    }
    FakeConnection& connection() { return *connections.made.front(); }
    void answer(Value claim, Value fence, Value time)
    {
        connection().answer(std::move(claim));
        connection().answer(Value::integer(700));
        connection().answer(std::move(fence));
        CHECK_FALSE(reply);
        connection().answer(std::move(time));
        runtime->run_ready();
    }
};

} // namespace

TEST_CASE("a claim made together costs no script, and tells the greater of last token and clock", "[redis][requests]")
{
    ClaimTogetherSetting setting;
    setting.claim();
    REQUIRE(setting.connection().sent.size() == 4);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(setting.connection().sent[i].with_next == (i < 3));
    CHECK(setting.connection().sent[0].words == Words{"SET", "job", "me/1", "NX", "PX", "3000"});
    CHECK(setting.connection().sent[1].words == Words{"PTTL", "job"});
    CHECK(setting.connection().sent[2].words == Words{"GET", "{job}:fence"});
    CHECK(setting.connection().sent[3].words == Words{"TIME"});
    auto const [fence, token] = GENERATE(
        std::pair(Value(), 1'700'000'000'000'012U), std::pair(Value::text("12"), 1'700'000'000'000'012U),
        std::pair(Value::text("1800000000000000"), 1'800'000'000'000'000U));
    setting.answer(Value::status("OK"), fence, time_of("1700000000", "12"));
    auto const granted = std::get<Granted>(setting.reply.value());
    CHECK(granted.fencing_token == token);
    CHECK(granted.ttl == 3s);
    CHECK(granted.since == setting.connection().sent[0].since);
}

TEST_CASE(
    "a claim made together is busy where somebody holds the key, and tells for how long at once", "[redis][requests]")
{
    struct Look {
        Value pttl;
        std::optional<std::chrono::milliseconds> expiry;
        bool never_frees;
    };
    auto const look = GENERATE(
        Look{Value::integer(700), 700ms, false}, Look{Value::integer(-2), 0ms, false},
        Look{Value::integer(-1), std::nullopt, true}, Look{Value::error("NOPERM no"), std::nullopt, false});
    ClaimTogetherSetting setting;
    setting.claim();
    setting.connection().answer(Value());
    setting.connection().answer(look.pttl);
    setting.connection().answer(Value::text("12"));
    setting.connection().answer(time_of("1700000000", "0"));
    auto const busy = std::get<Busy>(setting.reply.value());
    CHECK(busy.earliest_expiry == look.expiry);
    CHECK(busy.never_frees == look.never_frees);
    CHECK(setting.connection().unanswered() == 0);
}

TEST_CASE("without fencing a claim made together is one SET", "[redis][requests]")
{
    ClaimTogetherSetting setting;
    setting.claim(false);
    CHECK(setting.connection().sent.size() == 1);
    setting.connection().answer(Value::status("OK"));
    CHECK(std::get<Granted>(setting.reply.value()).fencing_token == 0);
}

TEST_CASE("a key taken without a token to begin from is in doubt, never granted", "[redis][requests]")
{
    ClaimTogetherSetting setting;
    setting.claim();
    SECTION("the fence key is no number")
    {
        setting.answer(Value::status("OK"), Value::text("soon"), time_of("1700000000", "0"));
        CHECK(expect_unknown(setting.reply.value()).error == errc::protocol_error);
    }
    SECTION("the clock is none")
    {
        setting.answer(Value::status("OK"), Value(), GENERATE(Value(), time_of("soon", "0"), time_of("-1", "0")));
        CHECK(expect_unknown(setting.reply.value()).error == errc::protocol_error);
    }
    SECTION("one of the two is refused")
    {
        bool const fence = GENERATE(true, false);
        auto const refusal = Value::error("NOPERM this user has no permissions");
        setting.answer(Value::status("OK"), fence ? refusal : Value(), fence ? time_of("1700000000", "0") : refusal);
        CHECK(expect_unknown(setting.reply.value()).error == errc::permission_denied);
    }
    SECTION("the connection ends before both are answered")
    {
        setting.connection().answer(Value::status("OK"));
        setting.connection().answer(Value::integer(3000));
        setting.connection().answer(Value());
        setting.connection().become(ConnectionState::ready);
        setting.connection().close();
        setting.runtime->run_ready();
        CHECK(failed_as(setting.reply.value(), Failure::Effect::unknown));
    }
}

TEST_CASE("a claim made together ends as its SET does", "[redis][requests]")
{
    ClaimTogetherSetting setting;
    setting.claim();
    setting.answer(Value::error("NOPERM this user has no permissions"), Value(), time_of("1700000000", "0"));
    CHECK(expect_refused(setting.reply.value()).error == errc::permission_denied);
}

TEST_CASE("an owner that may hold the key already is looked for by the script", "[redis][requests]")
{
    ClaimTogetherSetting setting;
    setting.claim(true, setting.runtime->now());
    REQUIRE(setting.connection().sent.size() == 1);
    auto const words = setting.connection().sent[0].words;
    CHECK(words.at(1) == redis::scripts::own_or_first_free().sha);
    // the counter of a single server has no part in it
    CHECK(std::ranges::find(words, "tenure:fence") == words.end());
    SECTION("and then the token to begin from")
    {
        setting.connection().answer(Value::list(Type::array, {Value::integer(0), Value::text("")}));
        REQUIRE(setting.connection().sent.size() == 3);
        CHECK(setting.connection().sent[1].words == Words{"GET", "{job}:fence"});
        CHECK(setting.connection().sent[1].with_next);
        CHECK(setting.connection().sent[2].words == Words{"TIME"});
        setting.connection().answer(Value::text("12"));
        CHECK_FALSE(setting.reply);
        setting.connection().answer(time_of("1700000000", "12"));
        auto const granted = std::get<Granted>(setting.reply.value());
        CHECK(granted.fencing_token == 1'700'000'000'000'012U);
        CHECK(granted.since == setting.connection().sent[0].since);
    }
    SECTION("and no token where somebody else holds it")
    {
        setting.connection().answer(
            Value::list(Type::array, {Value::integer(-1), Value::integer(700), Value::integer(0)}));
        CHECK(std::get<Busy>(setting.reply.value()).earliest_expiry == 700ms);
        CHECK(setting.connection().sent.size() == 1);
    }
}
