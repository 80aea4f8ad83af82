// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include "store/redis/link/subscriber.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using redis::ConnectionState;
using redis::resp::Type;
using redis::resp::Value;
using Events = std::vector<WatchEvent>;

namespace
{

Value confirmation(std::string const& channel)
{
    return Value::list(Type::push, {Value::text("subscribe"), Value::text(channel), Value::integer(1)});
}

Value message(std::string const& channel, std::string const& text = "1")
{
    return Value::list(Type::push, {Value::text("message"), Value::text(channel), Value::text(text)});
}

std::string const waiter(32, 'a');

struct WatchSetting {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeConnections connections{runtime, {}};
    std::shared_ptr<redis::Subscriber> subscriber =
        std::make_shared<redis::Subscriber>(runtime, connections.factory(), "redis://fake", waiter);

    ~WatchSetting()
    {
        subscriber->close();
        runtime->run_ready();
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(std::string channel, Events& events)
    {
        auto result = subscriber->watch(std::move(channel), [&events](WatchEvent event) { events.push_back(event); });
        CHECK(events.empty());
        return result;
    }
    /** Of channel "x", whose subscription the server has confirmed. */
    [[nodiscard]] std::unique_ptr<Watch> confirmed_watch(Events& events)
    {
        auto result = watch("x", events);
        runtime->run_ready();
        last().answer(confirmation("x"));
        return result;
    }
    [[nodiscard]] FakeConnection& last() { return *connections.made.back(); }
};

/** A watch of channel "x", whose subscription the server refuses in these words. */
struct RefusedWatch : WatchSetting {
    explicit RefusedWatch(std::string const& refusal)
    {
        watching = watch("x", events);
        runtime->run_ready();
        last().answer(Value::error(refusal));
    }

    Events events;
    std::unique_ptr<Watch> watching;
};

} // namespace

TEST_CASE("a channel is subscribed once for all its watchers", "[redis][watch]")
{
    WatchSetting setting;
    Events first;
    Events second;
    Events third;
    auto a = setting.watch("x", first);
    auto b = setting.watch("x", second);
    setting.runtime->run_ready();
    CHECK(setting.last().purpose == "subscriptions");
    REQUIRE(setting.last().sent.size() == 1);
    CHECK(setting.last().sent.front().words == std::vector<std::string>{"SUBSCRIBE", "x"});
    CHECK(first.empty());
    setting.last().answer(confirmation("x"));
    CHECK(first == Events{WatchEvent::in_force});
    CHECK(second == Events{WatchEvent::in_force});
    auto c = setting.watch("x", third);
    setting.runtime->run_ready();
    CHECK(third == Events{WatchEvent::in_force});
    CHECK(setting.last().sent.size() == 1);
    setting.last().push(message("x"));
    setting.last().push(message("y"));
    setting.last().push(Value::list(Type::push, {Value::text("message")}));
    CHECK(first == Events{WatchEvent::in_force, WatchEvent::hint});
    CHECK(third == first);
}

TEST_CASE("a message with names says whose turn it is", "[redis][watch]")
{
    WatchSetting setting;
    Events events;
    auto const watch = setting.watch("x", events);
    setting.runtime->run_ready();
    setting.last().answer(confirmation("x"));
    std::string const other(32, 'b');
    setting.last().push(message("x", other));
    setting.last().push(message("x", other + " " + waiter));
    setting.last().push(message("x", waiter));
    setting.last().push(message("x", "another program's"));
    CHECK(
        events == Events{
                      WatchEvent::in_force, WatchEvent::others_turn, WatchEvent::our_turn, WatchEvent::our_turn,
                      WatchEvent::hint});
}

TEST_CASE("a watch that has ended hears nothing, not even what was on its way", "[redis][watch]")
{
    WatchSetting setting;
    Events first;
    Events second;
    auto a = setting.watch("x", first);
    setting.runtime->run_ready();
    setting.last().answer(confirmation("x"));
    auto b = setting.watch("x", second);
    b.reset();
    setting.runtime->run_ready();
    CHECK(second.empty());
    a.reset();
    setting.last().push(message("x"));
    CHECK(first == Events{WatchEvent::in_force});
}

TEST_CASE("a handler may end its own watch and others", "[redis][watch]")
{
    WatchSetting setting;
    int calls = 0;
    std::unique_ptr<Watch> a;
    std::unique_ptr<Watch> b;
    auto const end_both = [&](WatchEvent) {
        ++calls;
        a.reset();
        b.reset();
    };
    a = setting.subscriber->watch("x", end_both);
    b = setting.subscriber->watch("x", end_both);
    setting.runtime->run_ready();
    setting.last().answer(confirmation("x"));
    CHECK(calls == 1);
}

TEST_CASE("after a reconnect every channel is subscribed again", "[redis][watch]")
{
    WatchSetting setting;
    Events events;
    auto a = setting.confirmed_watch(events);
    setting.last().become(ConnectionState::backing_off);
    CHECK(events == Events{WatchEvent::in_force, WatchEvent::interrupted});
    setting.last().become(ConnectionState::ready);
    setting.last().answer(confirmation("x"));
    CHECK(events == Events{WatchEvent::in_force, WatchEvent::interrupted, WatchEvent::in_force});
}

TEST_CASE("a connection that was refused is tried again for new watchers, and for those that wait", "[redis][watch]")
{
    WatchSetting setting;
    setting.connections.ready_at_once = false;
    Events events;
    Events later;
    auto a = setting.watch("x", events);
    auto& connection = setting.last();
    connection.become(ConnectionState::failed);
    connection.opened = false;
    setting.runtime->run_for(10s);
    CHECK(connection.opened);
    connection.become(ConnectionState::failed);
    connection.opened = false;
    auto b = setting.watch("y", later);
    CHECK(connection.opened);
    connection.become(ConnectionState::ready);
    connection.answer(confirmation("x"));
    connection.answer(confirmation("y"));
    CHECK(events == Events{WatchEvent::in_force});
    CHECK(later == Events{WatchEvent::in_force});
    CHECK(setting.connections.made.size() == 1);
}

TEST_CASE(
    "a channel outlives its last watcher for half a minute, and the connection its last channel", "[redis][watch]")
{
    WatchSetting setting;
    Events events;
    auto a = setting.confirmed_watch(events);
    a.reset();
    auto const let_pass = [&](int seconds) {
        for (int i = 0; i < seconds; ++i) {
            setting.runtime->run_for(1s);
            while (setting.last().unanswered() > 0)
                setting.last().answer(confirmation("x"));
        }
    };
    let_pass(25);
    Events again;
    auto b = setting.watch("x", again);
    setting.runtime->run_ready();
    CHECK(again == Events{WatchEvent::in_force});
    CHECK(setting.connections.made.size() == 1);
    b.reset();
    let_pass(45);
    CHECK(setting.last().closed);
    CHECK(setting.connections.made.size() == 1);
    CHECK(setting.runtime->timers() == 0);
}

TEST_CASE("a subscription that hangs is found out and replaced", "[redis][watch]")
{
    WatchSetting setting;
    Events events;
    auto a = setting.confirmed_watch(events);
    // the question of the first look is answered, that of the second is not
    setting.runtime->run_for(10s);
    REQUIRE(setting.last().unanswered() == 1);
    setting.last().answer(confirmation("x"));
    setting.runtime->run_for(20s);
    REQUIRE(setting.connections.made.size() == 2);
    CHECK(setting.connections.made.front()->closed);
    CHECK(events == Events{WatchEvent::in_force, WatchEvent::interrupted});
    setting.runtime->run_ready();
    setting.last().answer(confirmation("x"));
    CHECK(events.back() == WatchEvent::in_force);
}

TEST_CASE("a refused channel is unavailable, to later watchers too, and spoils no other", "[redis][watch]")
{
    WatchSetting setting;
    Events refused;
    Events good;
    auto a = setting.watch("x", refused);
    auto b = setting.watch("y", good);
    setting.runtime->run_ready();
    REQUIRE(setting.last().sent.size() == 2);
    setting.last().answer(Value::error("NOPERM this user has no permissions to access one of the channels"));
    setting.last().answer(confirmation("y"));
    CHECK(refused == Events{WatchEvent::unavailable});
    CHECK(good == Events{WatchEvent::in_force});
    CHECK(setting.runtime->logged("may not subscribe to x") == 1);
    Events later;
    auto c = setting.watch("x", later);
    setting.runtime->run_ready();
    CHECK(later == Events{WatchEvent::unavailable});
    CHECK(setting.last().sent.size() == 2);
}

TEST_CASE("a proxy without subscriptions is asked once, and the log says what to let through", "[redis][watch]")
{
    RefusedWatch setting("ERR handle request, command 'SUBSCRIBE' is not allowed");
    CHECK(setting.events == Events{WatchEvent::unavailable});
    CHECK(setting.runtime->logged("let the proxy pass SUBSCRIBE") == 1);
    setting.runtime->run_for(1min);
    CHECK(setting.last().sent.size() == 1);
}

TEST_CASE("a server that cannot subscribe for now is asked again later", "[redis][watch]")
{
    RefusedWatch setting("LOADING Redis is loading the dataset in memory");
    CHECK(setting.events.empty());
    setting.runtime->run_for(10s);
    setting.last().answer(confirmation("x"));
    CHECK(setting.events == Events{WatchEvent::in_force});
}

TEST_CASE(
    "a server that may not end subscriptions ends them with the connection, when there are many", "[redis][watch]")
{
    WatchSetting setting;
    Events kept;
    auto const watch = setting.watch("kept", kept);
    setting.runtime->run_ready();
    setting.last().answer(confirmation("kept"));
    auto const refuse_after = [&](int count) {
        Events events;
        std::vector<std::unique_ptr<Watch>> watches;
        for (int i = 0; i < count; ++i)
            watches.push_back(setting.watch(std::to_string(i), events));
        setting.runtime->run_ready();
        for (int i = 0; i < count; ++i)
            setting.last().answer(confirmation(std::to_string(i)));
        watches.clear();
        for (int second = 0; second < 60; ++second) {
            setting.runtime->run_for(1s);
            auto& sent = setting.last().sent;
            for (auto oldest = sent.end();
                 (oldest = std::ranges::find_if(sent, &FakeConnection::Sent::open)) != sent.end();)
                setting.last().answer(
                    oldest->words.front() == "UNSUBSCRIBE"
                        ? Value::error("NOPERM User worker has no permissions to run the 'unsubscribe' command")
                        : confirmation("kept"));
        }
    };
    refuse_after(999);
    CHECK(setting.connections.made.size() == 1);
    refuse_after(1);
    REQUIRE(setting.connections.made.size() == 2);
    CHECK(std::ranges::count(kept, WatchEvent::interrupted) == 1);
    CHECK(kept.back() == WatchEvent::in_force);
    CHECK(setting.last().sent.front().words == std::vector<std::string>{"SUBSCRIBE", "kept"});
}

TEST_CASE("after closing nothing is heard, and new watches are unavailable", "[redis][watch]")
{
    WatchSetting setting;
    Events events;
    Events late;
    auto a = setting.watch("x", events);
    setting.runtime->run_ready();
    setting.subscriber->close();
    CHECK(setting.last().closed);
    setting.runtime->run_ready();
    CHECK(events.empty());
    auto b = setting.watch("x", late);
    setting.runtime->run_ready();
    CHECK(late == Events{WatchEvent::unavailable});
    CHECK(setting.runtime->timers() == 0);
}
