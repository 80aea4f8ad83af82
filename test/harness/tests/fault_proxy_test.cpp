// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/eventually.hpp"
#include "harness/fault_proxy.hpp"
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>

using namespace tenure::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE_METHOD(RedisTest, "the fault proxy applies its faults to a connection", "[harness][integration]")
{
    auto direct = server.client();
    FaultProxy proxy{server.port()};
    RedisClient client{proxy.port()};
    CHECK(client.call("PING").text == "PONG");

    SECTION("it passes what is large, both ways")
    {
        std::string const large(3'000'000, 'x');
        client.call("SET", "large", large);
        CHECK(client.get("large") == large);
        CHECK(proxy.passed(Direction::replies) > 3'000'000);
    }
    SECTION("it delays replies and nothing else")
    {
        proxy.set(Direction::replies, {.delay = 300ms});
        auto const begin = Clock::now();
        client.call("SET", "key", "1");
        CHECK(Clock::now() - begin >= 300ms);
        CHECK(Clock::now() - begin < 5s);
    }
    SECTION("it drops replies, while requests still arrive")
    {
        proxy.set(Direction::replies, {.kind = Fault::Kind::drop});
        client.reply_limit(100ms);
        CHECK_THROWS(client.call("SET", "key", "1"));
        CHECK(direct.get("key") == "1");
        proxy.heal();
        client.reply_limit(100ms);
        CHECK_FALSE(client.receive(100ms));
    }
    SECTION("it holds requests and passes them later")
    {
        proxy.set(Direction::requests, {.kind = Fault::Kind::hold});
        client.reply_limit(100ms);
        CHECK_THROWS(client.call("SET", "key", "1"));
        CHECK_FALSE(direct.get("key"));
        proxy.heal();
        CHECK(client.receive(10s).value().text == "OK");
        CHECK(direct.get("key") == "1");
    }
    SECTION("it resets after a number of bytes")
    {
        proxy.set(Direction::replies, {.reset_after = 3});
        CHECK_THROWS(client.call("PING"));
        RedisClient again{proxy.port()};
        CHECK(again.call("PING").text == "PONG");
    }
    SECTION("it waits for bytes to pass and then changes the other direction")
    {
        proxy.set_when(Direction::requests, "marked", Direction::replies, {.kind = Fault::Kind::hold});
        client.call("SET", "plain", "1");
        client.reply_limit(100ms);
        CHECK_THROWS(client.call("SET", "marked", "1"));
        CHECK(proxy.wait_seen());
        CHECK(direct.get("marked") == "1");
        proxy.heal();
        CHECK(client.receive(10s).value().text == "OK");
    }
    SECTION("it resets all connections, and refuses new ones")
    {
        proxy.reset_connections();
        CHECK_THROWS(client.call("PING"));
        proxy.refuse(true);
        CHECK_THROWS(RedisClient{proxy.port()}.call("PING"));
        proxy.heal();
        CHECK(RedisClient{proxy.port()}.call("PING").text == "PONG");
    }
    SECTION("it silences the connections of now for good, and no others")
    {
        proxy.silence_connections();
        client.reply_limit(100ms);
        CHECK_THROWS(client.call("SET", "key", "1"));
        CHECK_FALSE(direct.get("key"));
        CHECK(RedisClient{proxy.port()}.call("PING").text == "PONG");
        proxy.heal();
        CHECK_FALSE(client.receive(100ms));
        auto const before = std::stoi(direct.info("connected_clients"));
        client = RedisClient{proxy.port()};
        CHECK(client.call("PING").text == "PONG");
        CHECK(eventually([&] { return std::stoi(direct.info("connected_clients")) == before; }));
    }
    SECTION("a closed side closes the other")
    {
        auto const before = std::stoi(direct.info("connected_clients"));
        client = RedisClient{proxy.port()};
        CHECK(eventually([&] { return std::stoi(direct.info("connected_clients")) == before; }));
    }
}
