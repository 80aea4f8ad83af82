// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The requests of a Redis store for keys that rest after their use.
#include "harness/immovable.hpp"
#include "harness/renewals.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "unit/store/redis/backend_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;
namespace scripts = redis::scripts;

namespace
{

struct QuarantineSetting : BackendFixture {
    using BackendFixture::BackendFixture;

    [[nodiscard]] auto claim(KeyRangePtr range, bool fencing)
    {
        auto request = claim_of(std::move(range), fencing);
        request.reuse_after = 5s;
        return ask_now(&Backend::claim, std::move(request));
    }
    [[nodiscard]] LaterRenewReply renew(RenewRequest request)
    {
        auto reply = renew_one(*backend, std::move(request));
        runtime->run_ready();
        return reply;
    }
    [[nodiscard]] static ClaimPtr resting(std::uint32_t index, std::chrono::milliseconds reuse_after = 5s)
    {
        auto claim = held(numbered_keys("p", 3), index);
        claim->reuse_after = reuse_after;
        return claim;
    }
};

} // namespace

TEST_CASE("a claim keeps its key for the ttl and the quarantine, and is granted the ttl", "[redis][quarantine]")
{
    QuarantineSetting setting;
    auto const single = setting.claim(numbered_keys("p", 1), false);
    CHECK(setting.last() == Words{"SET", "p0", "me/1", "NX", "PX", "8000"});
    setting.answer(Value::status("OK"));
    CHECK(std::get<Granted>(single->value()).ttl == 3s);
    auto const pool = setting.claim(numbered_keys("p", 2), false);
    CHECK(
        setting.last() ==
        Words{"EVALSHA", scripts::first_free().sha, "2", "p0", "p1", "me/1", "8000", "1", "", "", ""});
    setting.answer(Value::list(redis::resp::Type::array, {Value::integer(1), Value::text("")}));
    CHECK(std::get<Granted>(pool->value()).ttl == 3s);
}

TEST_CASE(
    "where all keys of a large pool are held, a claim with quarantine learns when the first frees",
    "[redis][quarantine]")
{
    QuarantineSetting setting;
    // the first attempt at such a pool does without where a message tells of each release
    auto const reply = setting.claim(numbered_keys("p", 100), false);
    CHECK(setting.last().at(setting.last().size() - 4) == "1");
    setting.answer(Value::list(redis::resp::Type::array, {Value::integer(-1), Value::integer(700), Value::integer(0)}));
    CHECK(std::get<Busy>(reply->value()).earliest_expiry == 700ms);
}

TEST_CASE(
    "a renewal keeps the quarantine behind the ttl, by a script and by the server's own command", "[redis][quarantine]")
{
    auto const* const version = GENERATE("7.0.15", "8.4.0");
    QuarantineSetting setting(version);
    auto const claimed = setting.claim(numbered_keys("p", 1), false);
    setting.answer(Value::status("OK"));
    auto const renewed = setting.renew({setting.resting(0), 3s, setting.runtime->now() + 1s});
    if (std::string(version) == "8.4.0") {
        CHECK(setting.last() == Words{"SET", "p0", "me/1", "IFEQ", "me/1", "PX", "8000"});
        setting.answer(Value::status("OK"));
    } else {
        CHECK(setting.last() == Words{"EVALSHA", scripts::renew().sha, "1", "p0", "8000", "me/1"});
        setting.answer(Value::text("1"));
    }
    CHECK(std::get<Renewed>(renewed->value()).ttl == 3s);
}

TEST_CASE("renewals of keys with and without quarantine share no call", "[redis][quarantine]")
{
    QuarantineSetting setting;
    auto const claimed = setting.claim(numbered_keys("p", 1), false);
    setting.answer(Value::status("OK"));
    auto const before = setting.connections.made.front()->sent.size();
    auto const limit = setting.runtime->now() + 1s;
    auto const replies = renew_together(
        *setting.backend,
        {{setting.resting(0), 3s, limit}, {setting.resting(1, 0ms), 3s, limit}, {setting.resting(2), 3s, limit}});
    setting.runtime->run_ready();
    auto const& sent = setting.connections.made.front()->sent;
    REQUIRE(sent.size() == before + 2);
    CHECK(sent[before].words == Words{"EVALSHA", scripts::renew().sha, "1", "p1", "3000", "me/1"});
    CHECK(sent[before + 1].words == Words{"EVALSHA", scripts::renew().sha, "2", "p0", "p2", "8000", "me/1", "me/1"});
    setting.answer(Value::text("1"));
    setting.answer(Value::text("11"));
    for (auto const& reply : replies)
        CHECK(std::holds_alternative<Renewed>(reply->value()));
}

TEST_CASE(
    "a release leaves the key to rest by the script, also where the server could delete it by itself",
    "[redis][quarantine]")
{
    auto const* const version = GENERATE("7.0.15", "8.4.0");
    QuarantineSetting setting(version);
    auto const claimed = setting.claim(numbered_keys("p", 1), false);
    setting.answer(Value::status("OK"));
    auto const limit = setting.runtime->now() + 1s;
    auto const told = setting.ask_now(&Backend::release, ReleaseRequest{setting.resting(0), limit, true});
    CHECK(
        setting.last() == Words{
                              "EVALSHA", scripts::release().everywhere.sha, "3", "{p}:waiting", "{p}:watched", "p0",
                              "me/1", "+", "resting/me/1", "5000"});
    setting.answer(Value::text("1"));
    CHECK(std::holds_alternative<Released>(told->value()));
    auto const quiet = setting.ask_now(&Backend::release, ReleaseRequest{setting.resting(1), limit, false});
    CHECK(
        setting.last() ==
        Words{"EVALSHA", scripts::release().everywhere.sha, "1", "p1", "me/1", "+", "resting/me/1", "5000"});
    setting.answer(Value::text("0"));
    CHECK(std::holds_alternative<NotOwner>(quiet->value()));
}

TEST_CASE("a withdrawal names the rest only where something may have been held", "[redis][quarantine]")
{
    QuarantineSetting setting;
    auto const range = numbered_keys("p", 2);
    auto const limit = setting.runtime->now() + 1s;
    auto const free = setting.ask_now(&Backend::withdraw, WithdrawRequest{range, "me/1", limit, true});
    CHECK(
        setting.last() ==
        Words{
            "EVALSHA", scripts::withdraw().everywhere.sha, "4", "{p}:waiting", "{p}:watched", "p0", "p1", "me/1", "+"});
    setting.answer(Value::text("1"));
    auto const rest = setting.ask_now(&Backend::withdraw, WithdrawRequest{range, "me/1", limit, true, 5s});
    CHECK(
        setting.last() == Words{
                              "EVALSHA", scripts::withdraw().everywhere.sha, "4", "{p}:waiting", "{p}:watched", "p0",
                              "p1", "me/1", "+", "resting/me/1", "5000"});
    setting.answer(Value::text("0"));
    CHECK(std::holds_alternative<Released>(rest->value()));
}
