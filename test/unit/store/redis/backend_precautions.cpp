// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Delay after a failover: the additional commands if the config enables it, and none otherwise.
#include "harness/immovable.hpp"
#include "harness/renewals.hpp"
#include "unit/store/redis/backend_fixture.hpp"

#include "store/redis/cluster/hash_slot.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;
namespace scripts = redis::scripts;

namespace
{

std::string const run_id(40, 'a');

struct PrecautionsSetting : BackendFixture {
    explicit PrecautionsSetting(bool delay_after_failover, std::string const& version = "7.0.15")
        : BackendFixture(version, {.name = "redis://fake:6379/0", .delay_after_failover = delay_after_failover})
    {
        connections.info.run_id = run_id;
    }

    auto claim(KeyRangePtr range, bool fencing = false, bool again = false)
    {
        auto request = claim_of(std::move(range), fencing);
        if (again)
            request.earliest_attempt = runtime->now() - 1s;
        return ask_now(&Backend::claim, std::move(request));
    }
    auto renew(std::string const& key)
    {
        auto reply = renew_one(*backend, {held(named_key(key)), 3s, runtime->now() + 1s});
        runtime->run_ready();
        return reply;
    }
};

Value closed_for(std::int64_t ms)
{
    return Value::list(redis::resp::Type::array, {Value::integer(-2), Value::integer(ms)});
}

} // namespace

TEST_CASE("without precautions a store asks what it always asked", "[redis][precautions]")
{
    PrecautionsSetting setting(false);
    auto const named = setting.claim(named_key("a"));
    CHECK(setting.last() == Words{"SET", "a", "me/1", "NX", "PX", "3000"});
    auto const pool = setting.claim(numbered_keys("p", 2));
    CHECK(
        setting.last() ==
        Words{"EVALSHA", scripts::first_free().sha, "2", "p0", "p1", "me/1", "3000", "1", "", "", ""});
    setting.answer(Value::status("OK"));
    auto const renewed = setting.renew("a");
    CHECK(setting.last() == Words{"EVALSHA", scripts::renew().sha, "1", "a", "3000", "me/1"});
    CHECK(setting.connection().sent.size() == 3);
}

TEST_CASE(
    "a claim that may be delayed goes with the marker's name and the run id of its server", "[redis][precautions]")
{
    PrecautionsSetting setting(true);
    auto const named = setting.claim(named_key("a"));
    auto const first = scripts::first_free_after_failover().sha;
    CHECK(
        setting.last() == Words{"EVALSHA", first, "2", "tenure:master", "a", "me/1", "3000", "1", "", "", "", run_id});
    auto const pool = setting.claim(numbered_keys("p", 2), true);
    CHECK(
        setting.last() == Words{
                              "EVALSHA", first, "4", "tenure:fence", "tenure:master", "p0", "p1", "me/1", "3000", "1",
                              "1", "", "", run_id});
    auto const again = setting.claim(numbered_keys("p", 2), true, true);
    CHECK(setting.last().at(1) == scripts::own_or_first_free_after_failover().sha);
    CHECK(setting.last().back() == run_id);
    CHECK(setting.connection().sent.size() == 3);
}

TEST_CASE("a renewal notes its ttl before it extends, with the server's own command too", "[redis][precautions]")
{
    auto const* const version = GENERATE("7.0.15", "8.4.0");
    PrecautionsSetting setting(true, version);
    auto const claimed = setting.claim(named_key("a"));
    setting.answer(Value::list(redis::resp::Type::array, {Value::integer(0), Value::text("")}));
    REQUIRE(std::holds_alternative<Granted>(claimed->value()));
    auto const renewed = setting.renew("a");
    CHECK(
        setting.last() == Words{"EVALSHA", scripts::renew_noting_ttl().sha, "2", "tenure:master", "a", "3000", "me/1"});
    setting.answer(Value::text("1"));
    CHECK(std::get<Renewed>(renewed->value()).ttl == 3s);
}

TEST_CASE("claims that are closed are busy until they open, and that is said once", "[redis][precautions]")
{
    PrecautionsSetting setting(true);
    // a page would follow
    auto const reply = setting.claim(numbered_keys("p", 5000));
    setting.answer(closed_for(2500));
    REQUIRE(reply->has_value());
    CHECK(std::get<Busy>(**reply).earliest_expiry == 2500ms);
    CHECK_FALSE(std::get<Busy>(**reply).never_frees);
    CHECK(setting.connection().sent.size() == 1);
    for (int i = 0; i < 3; ++i) {
        auto const again = setting.claim(named_key("a"));
        setting.answer(closed_for(2000));
        CHECK(std::get<Busy>(again->value()).earliest_expiry == 2000ms);
    }
    CHECK(setting.runtime->logged("redis://fake:6379/0: no claims for another 2500 ms") == 1);
    CHECK(setting.runtime->logged("no claims for another") == 1);
    // a later closure is another one
    setting.runtime->run_for(3s);
    auto const later = setting.claim(named_key("a"));
    setting.answer(closed_for(700));
    CHECK(setting.runtime->logged("no claims for another 700 ms") == 1);
}

TEST_CASE("an answer about closed claims that makes no sense is not believed", "[redis][precautions]")
{
    PrecautionsSetting setting(true);
    auto const reply = setting.claim(named_key("a"));
    setting.answer(GENERATE(
        closed_for(0), closed_for(-1), Value::list(redis::resp::Type::array, {Value::integer(-2)}),
        Value::list(redis::resp::Type::array, {Value::integer(-2), Value::text("5")})));
    CHECK(failed_as(reply->value(), Failure::Effect::unknown));
    CHECK(setting.connection().invalidated);
}

TEST_CASE("claims that are closed where nobody asked for a delay make no sense", "[redis][precautions]")
{
    PrecautionsSetting setting(false);
    auto const reply = setting.claim(numbered_keys("p", 2));
    setting.answer(closed_for(500));
    CHECK(failed_as(reply->value(), Failure::Effect::unknown));
    CHECK(setting.connection().invalidated);
}

TEST_CASE("each hash slot has a number of its own that is in it", "[redis][cluster][precautions]")
{
    std::set<std::string> numbers;
    for (std::uint32_t slot = 0; slot < redis::hash_slot_count; ++slot) {
        auto const number = redis::slot_number(static_cast<redis::HashSlot>(slot));
        REQUIRE(redis::hash_slot(number) == slot);
        REQUIRE(redis::hash_slot("tenure:master:{" + number + "}") == slot);
        numbers.insert(number);
    }
    CHECK(numbers.size() == redis::hash_slot_count);
}
