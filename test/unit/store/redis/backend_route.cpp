// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include "store/redis/link/hedged_link.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using redis::ConnectionState;
using redis::Delivery;
using redis::resp::Command;
using redis::resp::Value;

namespace
{

struct RouteSetting {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeConnections connections{runtime, {}};
    std::shared_ptr<redis::HedgedLink> link = std::make_shared<redis::HedgedLink>(runtime, connections.factory());
    std::vector<Delivery> ended;

    ~RouteSetting()
    {
        link->close();
        runtime->run_ready();
    }
    void send()
    {
        link->execute(Command("TIME"), runtime->now() + 10s, [this](redis::Outcome outcome) {
            ended.push_back(outcome.delivery);
        });
    }
    [[nodiscard]] FakeConnection& connection(std::size_t index) { return *connections.made.at(index); }
};

/** Both connections wait for an answer. */
struct SilentServer : RouteSetting {
    SilentServer()
    {
        link->shortest_ttl(600ms);
        link->note_ttl(10s);
        send();
        runtime->run_for(200ms);
        send();
    }
};

} // namespace

TEST_CASE("nothing is connected before the first request", "[redis][route]")
{
    RouteSetting setting;
    setting.runtime->run_for(1min);
    CHECK(setting.connections.made.empty());
    CHECK_FALSE(setting.link->ready());
    setting.runtime->run_ready();
    CHECK(setting.link->ready());
    CHECK(setting.connections.made.size() == 1);
}

TEST_CASE("a second connection takes over when the first is silent for a sixth of the shortest ttl", "[redis][route]")
{
    RouteSetting setting;
    setting.link->shortest_ttl(3s);
    setting.send();
    setting.runtime->run_ready();
    setting.connection(0).answer(Value::status("OK"));
    setting.runtime->run_for(5s);
    CHECK(setting.connections.made.size() == 1);

    setting.send();
    setting.runtime->run_for(499ms);
    CHECK(setting.connections.made.size() == 1);
    setting.runtime->run_for(252ms);
    REQUIRE(setting.connections.made.size() == 2);
    CHECK(setting.connection(1).opened);
    CHECK(setting.runtime->logged("second connection") == 1);
    setting.send();
    CHECK(setting.connection(1).sent.size() == 1);
    CHECK_FALSE(setting.connection(0).closed);

    // its late answer still counts
    setting.connection(0).answer(Value::status("OK"));
    CHECK(setting.ended == std::vector{Delivery::answered, Delivery::answered});
    setting.connection(1).answer(Value::status("OK"));
    setting.runtime->run_for(1s);
    CHECK(setting.connection(0).closed);
    CHECK_FALSE(setting.connection(1).closed);
}

TEST_CASE("without leases a second of silence is accepted", "[redis][route]")
{
    RouteSetting setting;
    setting.send();
    setting.runtime->run_for(999ms);
    CHECK(setting.connections.made.size() == 1);
    setting.runtime->run_for(502ms);
    CHECK(setting.connections.made.size() == 2);
}

TEST_CASE("steady answers keep the one connection, however long they go on", "[redis][route]")
{
    RouteSetting setting;
    setting.link->shortest_ttl(600ms);
    setting.send();
    setting.runtime->run_ready();
    for (int i = 0; i < 200; ++i) {
        setting.send();
        setting.runtime->run_for(30ms);
        setting.connection(0).answer(Value::status("OK"));
    }
    CHECK(setting.connections.made.size() == 1);
    CHECK(setting.ended.size() == 200);
}

TEST_CASE("a silent connection is closed a ttl later, and its requests are unknown", "[redis][route]")
{
    RouteSetting setting;
    setting.link->shortest_ttl(3s);
    setting.link->note_ttl(3s);
    setting.link->note_ttl(4s);
    setting.send();
    setting.runtime->run_for(751ms);
    REQUIRE(setting.connections.made.size() == 2);
    setting.runtime->run_for(3s);
    CHECK_FALSE(setting.connection(0).closed);
    setting.runtime->run_for(1500ms);
    CHECK(setting.connection(0).closed);
    CHECK(setting.connection(0).gave_up);
    CHECK(setting.ended == std::vector{Delivery::unknown});
    CHECK(setting.connections.made.size() == 2);
}

TEST_CASE("the first connection is used again if it answers before the second is ready", "[redis][route]")
{
    RouteSetting setting;
    setting.link->shortest_ttl(3s);
    setting.send();
    setting.runtime->run_ready();
    setting.connections.ready_at_once = false;
    setting.runtime->run_for(751ms);
    REQUIRE(setting.connections.made.size() == 2);
    CHECK_FALSE(setting.link->ready());
    setting.connection(0).answer(Value::status("OK"));
    CHECK(setting.link->ready());
    setting.send();
    CHECK(setting.connection(0).sent.size() == 2);
    setting.connection(0).answer(Value::status("OK"));
    setting.connection(1).become(ConnectionState::ready);
    setting.runtime->run_for(2s);
    CHECK(setting.connection(1).closed);
    CHECK_FALSE(setting.connection(0).closed);
}

TEST_CASE("where both connections are silent the older one makes room, once a second at most", "[redis][route]")
{
    SilentServer setting;
    setting.runtime->run_for(700ms);
    CHECK(setting.connections.made.size() == 2);
    CHECK_FALSE(setting.connection(0).closed);
    setting.runtime->run_for(500ms);
    REQUIRE(setting.connections.made.size() == 3);
    CHECK(setting.connection(0).closed);
    CHECK_FALSE(setting.connection(1).closed);
    setting.send();
    CHECK(setting.connection(2).sent.size() == 1);
    setting.connection(2).answer(Value::status("OK"));
    setting.runtime->run_for(5s);
    CHECK(setting.connections.made.size() == 3);
}

TEST_CASE("a server that stays silent makes few lines, however many connections are opened", "[redis][route][log]")
{
    RouteSetting setting;
    setting.link->shortest_ttl(600ms);
    setting.link->note_ttl(10s);
    for (int i = 0; i < 300; ++i) {
        setting.send();
        setting.runtime->run_for(100ms);
    }
    CHECK(setting.connections.made.size() > 20);
    // at once, and after 1 and 10 s
    CHECK(setting.runtime->logged("; opening a second connection beside the silent one") == 3);
}

TEST_CASE("the first connection is used again if it answers while the second is silent", "[redis][route]")
{
    SilentServer setting;
    setting.runtime->run_for(600ms);
    setting.connection(0).answer(Value::status("OK"));
    setting.runtime->run_for(200ms);
    setting.send();
    CHECK(setting.connection(0).sent.size() == 2);
}

TEST_CASE("requests of the second connection can be repeated where the first one is used again", "[redis][route]")
{
    SilentServer setting;
    int reachable = 0;
    setting.link->on_reachable([&] { ++reachable; });
    setting.runtime->run_for(600ms);
    setting.connection(0).answer(Value::status("OK"));
    CHECK(reachable == 0);
    setting.runtime->run_for(300ms);
    CHECK(reachable == 1);
}

TEST_CASE("a loop that was blocked does not take the server for silent", "[redis][route]")
{
    RouteSetting setting;
    setting.link->shortest_ttl(3s);
    setting.send();
    setting.runtime->run_for(100ms);
    setting.runtime->skip(20s);
    // the answer was there all the time and is read in the same turn as the timer
    setting.runtime->run_ready();
    setting.connection(0).answer(Value::status("OK"));
    setting.runtime->run_for(5s);
    CHECK(setting.connections.made.size() == 1);
}

TEST_CASE("a server that is the wrong one for now is connected anew, once a second at most", "[redis][route]")
{
    RouteSetting setting;
    setting.send();
    setting.runtime->run_ready();
    setting.connection(0).answer(Value::status("OK"));
    for (int i = 0; i < 10; ++i) {
        setting.link->reconnect();
        setting.runtime->run_for(50ms);
    }
    CHECK(setting.connections.made.size() == 2);
    setting.send();
    CHECK(setting.connection(1).sent.size() == 1);
    setting.connection(1).answer(Value::status("OK"));
    setting.runtime->run_for(3s);
    CHECK(setting.connection(0).closed);
    setting.link->reconnect();
    CHECK(setting.connections.made.size() == 3);
}

TEST_CASE("each handshake is reported and begins a generation", "[redis][route]")
{
    RouteSetting setting;
    int reachable = 0;
    setting.link->on_reachable([&reachable] { ++reachable; });
    CHECK(setting.link->generation() == 0);
    setting.send();
    setting.runtime->run_ready();
    CHECK(reachable == 1);
    CHECK(setting.link->server().version.text() == "7.0.15");
    auto const generation = setting.link->generation();
    setting.connection(0).become(ConnectionState::backing_off);
    setting.connection(0).become(ConnectionState::ready);
    CHECK(reachable == 2);
    CHECK(setting.link->generation() == generation + 1);
}

TEST_CASE("a closed route answers everything as not sent and leaves no timer", "[redis][route]")
{
    RouteSetting setting;
    setting.send();
    setting.runtime->run_ready();
    setting.link->close();
    setting.send();
    CHECK(setting.ended.empty());
    setting.runtime->run_ready();
    CHECK(setting.ended == std::vector{Delivery::unknown, Delivery::not_sent});
    CHECK(setting.runtime->timers() == 0);
    CHECK_FALSE(setting.link->ready());
}
