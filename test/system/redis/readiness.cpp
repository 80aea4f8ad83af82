// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service that asks at its start whether its store can be used.
#include "harness/redis_server.hpp"
#include "system/redis/minimal_permissions.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

std::string url(std::string const& login, std::uint16_t port)
{
    return "redis://" + login + "127.0.0.1:" + std::to_string(port);
}

/** Far longer than any test waits: what fails by it is not told at once. */
constexpr auto long_timeout = 5min;

error_code ready(RunningStore const& running, std::chrono::milliseconds timeout)
{
    auto const [error] = soon(running.store().async_ready(timeout, as_future));
    return error;
}

} // namespace

TEST_CASE("a store is ready with the minimal permissions, and nothing is written or refused", "[integration][acl]")
{
    require_redis();
    RedisServer const server{{.config = {minimal_user}}};
    auto client = server.client();
    RunningStore const running(url("worker:secret@", server.port()));
    CHECK_FALSE(ready(running, long_timeout));
    CHECK(client.keys("*").empty());
    CHECK(client.call("ACL", "LOG").elements.empty());
}

TEST_CASE("a wrong password and a missing permission fail at once", "[integration][acl]")
{
    require_redis();
    RedisServer const server{{.config = {minimal_user}}};
    auto client = server.client();
    SECTION("wrong password")
    {
        RunningStore const running(url("worker:wrong@", server.port()));
        CHECK(ready(running, long_timeout) == errc::authentication_failed);
        CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("WRONGPASS"));
    }
    SECTION("no permission for the counter of fencing tokens")
    {
        client.call("ACL", "SETUSER", "worker", "resetkeys", "~P*");
        RunningStore const running(url("worker:secret@", server.port()));
        CHECK(ready(running, long_timeout) == errc::permission_denied);
        CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("~tenure:fence"));
    }
    SECTION("no permission to look")
    {
        client.call("ACL", "SETUSER", "worker", "-exists");
        RunningStore const running(url("worker:secret@", server.port()));
        CHECK(ready(running, long_timeout) == errc::permission_denied);
        CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("grant +exists"));
    }
}

TEST_CASE("a refused port is reported at the timeout, with its cause", "[integration]")
{
    RunningStore const running(url("", free_port()));
    auto const begun = std::chrono::steady_clock::now();
    CHECK(ready(running, 700ms) == errc::store_unavailable);
    CHECK(std::chrono::steady_clock::now() - begun >= 700ms);
    CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("refused"));
}

TEST_CASE_METHOD(RedisTest, "a store becomes ready when its server starts within the timeout", "[integration]")
{
    server.kill();
    RunningStore const running(url("", server.port()));
    auto waiting = running.store().async_ready(15s, as_future);
    CHECK(waiting.wait_for(300ms) == std::future_status::timeout);
    server.start();
    auto const [error] = soon(std::move(waiting));
    CHECK_FALSE(error);
}
