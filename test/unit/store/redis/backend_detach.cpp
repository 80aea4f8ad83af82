// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that are left to expire: the requests of a Redis store, and its use of the answers.
#include "harness/expect_failure.hpp"
#include "harness/immovable.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "unit/store/redis/backend_fixture.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;
namespace scripts = redis::scripts;

namespace
{

/** A store with a held key, which is to be kept. */
struct DetachSetting : BackendFixture {
    using BackendFixture::BackendFixture;

    std::optional<ReleaseReply> reply;

    void detach(std::chrono::milliseconds keep_for)
    {
        backend->release(
            {held(numbered_keys("p", 3), 1), runtime->now() + 1s, true, keep_for},
            [this](ReleaseReply answer) { reply = std::move(answer); });
        runtime->run_ready();
    }
};

} // namespace

TEST_CASE(
    "a detachment is a script, also where the server could compare by itself, and names neither line nor channel",
    "[redis][detach]")
{
    auto const* const version = GENERATE("7.0.15", "8.4.0");
    DetachSetting setting(version);
    SECTION("for a time")
    {
        setting.detach(60s);
        CHECK(setting.last() == Words{"EVALSHA", scripts::detach().sha, "1", "p1", "me/1", "kept/me/1", "60000"});
    }
    SECTION("with the ttl that the key has")
    {
        setting.detach(0ms);
        CHECK(setting.last() == Words{"EVALSHA", scripts::detach().sha, "1", "p1", "me/1", "kept/me/1"});
    }
    setting.answer(Value::text("kept"));
    CHECK(std::holds_alternative<Released>(setting.reply.value()));
}

TEST_CASE("a detachment is believed only if the server says so", "[redis][detach]")
{
    DetachSetting setting;
    setting.detach(60s);
    SECTION("the key bears another value")
    {
        setting.answer(Value::text("not owner"));
        CHECK(std::holds_alternative<NotOwner>(setting.reply.value()));
    }
    SECTION("the server refuses")
    {
        setting.answer(Value::error("OOM command not allowed when used memory > 'maxmemory'."));
        CHECK(expect_refused(setting.reply.value()).error == errc::store_refused);
    }
    SECTION("the reply is malformed")
    {
        setting.answer(Value::integer(1));
        CHECK(failed_as(setting.reply.value(), Failure::Effect::unknown));
    }
}
