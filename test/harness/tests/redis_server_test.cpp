// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

using namespace tenure::test;
using namespace std::chrono_literals;

TEST_CASE("a server of the tests answers, pauses, dies and comes back", "[harness][integration]")
{
    require_redis();
    RedisServer server{{.config = {"appendonly yes", "appendfsync always"}, .unix_socket = true}};
    auto client = server.client();
    CHECK(client.call("PING").text == "PONG");
    client.call("SET", "key", "value", "PX", 60'000);
    CHECK(client.get("key") == "value");
    CHECK(client.pttl("key") > 50'000);
    CHECK(RedisClient{server.socket_path()}.get("key") == "value");
    CHECK(client.send({"NO-SUCH-COMMAND"}).is_error());
    CHECK(client.info("process_id") == std::to_string(server.pid()));

    server.pause();
    client.reply_limit(50ms);
    CHECK_THROWS(client.call("PING"));
    server.resume();

    server.kill();
    CHECK_THROWS(server.client());
    server.start();
    CHECK(server.client().keys("k*").size() == 1);
}

TEST_CASE("two servers at once are two servers", "[harness][integration]")
{
    require_redis();
    RedisServer first;
    std::string gone;
    {
        RedisServer second{{.config = {"requirepass secret"}}};
        gone = second.directory();
        CHECK(first.port() != second.port());
        CHECK(second.client().send({"GET", "key"}).text.starts_with("NOAUTH"));
    }
    CHECK_FALSE(std::filesystem::exists(gone));
}

TEST_CASE("a server that refuses its configuration says why", "[harness][integration]")
{
    require_redis();
    CHECK_THROWS(RedisServer{{.config = {"no-such-directive yes"}}});
}

TEST_CASE("a child process tells how it ended", "[harness]")
{
    ChildProcess ends{Command{{"sh", "-c", "exit 3"}}};
    CHECK(ends.wait_for(10s).value_or(ExitStatus{}).code == 3);
    ChildProcess waits{Command{{"sleep", "1000"}}};
    CHECK(waits.running());
    waits.signal(SIGTERM);
    CHECK(waits.wait_for(10s).value_or(ExitStatus{}).signal == SIGTERM);
    CHECK_THROWS(ChildProcess{Command{{"no-such-program-anywhere"}}});
}
