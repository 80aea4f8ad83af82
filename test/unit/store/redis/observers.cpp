// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The requests and notifications of an observer. Messages to waiters are in backend_watch.cpp.
#include "unit/store/redis/backend_fixture.hpp"

#include "store/redis/link/subscriber.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using redis::ConnectionState;
using redis::resp::Type;
using Events = std::vector<WatchEvent>;

namespace
{

struct ObserverSetting : BackendFixture {
    Events events;
    std::unique_ptr<Watch> watch;

    /** Watches `job` as an observer. */
    void observe()
    {
        watch =
            backend->watch(named_key("job"), WatchAs::observer, [this](WatchEvent event) { events.push_back(event); });
        CHECK(events.empty());
        runtime->run_ready();
    }
    void subscribe()
    {
        hints().answer(
            Value::list(Type::push, {Value::text("subscribe"), Value::text("{job}:free"), Value::integer(1)}));
        runtime->run_ready();
    }
    /** The subscription answers whenever it is asked whether it lives. */
    void let_pass(int seconds)
    {
        for (int i = 0; i < seconds; ++i) {
            runtime->run_for(1s);
            while (hints().unanswered() > 0)
                subscribe();
        }
    }
    void message(std::string const& text)
    {
        hints().push(Value::list(Type::push, {Value::text("message"), Value::text("{job}:free"), Value::text(text)}));
    }
    [[nodiscard]] FakeConnection& hints() { return of("subscriptions"); }
    [[nodiscard]] FakeConnection& ordinary() { return of(""); }
    [[nodiscard]] FakeConnection& of(std::string_view purpose)
    {
        for (auto const& connection : connections.made)
            if (connection->purpose == purpose)
                return *connection;
        throw std::runtime_error("no such connection was made");
    }
};

Words const mark{"SET", "{job}:watched", "1", "PX", "60000"};

} // namespace

TEST_CASE("an observer's watch is in force once the key is there that makes releases tell", "[redis][watch]")
{
    ObserverSetting setting;
    setting.observe();
    CHECK(setting.connections.made.size() == 1);
    setting.subscribe();
    CHECK(setting.events.empty());
    CHECK(setting.ordinary().sent.at(0).words == mark);
    setting.ordinary().answer(Value::status("OK"));
    CHECK(setting.events == Events{WatchEvent::in_force});
    SECTION("it writes the key anew every 20 seconds, and tells nothing of it")
    {
        setting.let_pass(19);
        CHECK(setting.ordinary().sent.size() == 1);
        setting.let_pass(1);
        REQUIRE(setting.ordinary().sent.size() == 2);
        CHECK(setting.ordinary().sent.at(1).words == mark);
        setting.ordinary().answer(Value::status("OK"));
        CHECK(setting.events.size() == 1);
    }
    SECTION("whose turn it is does not matter to it")
    {
        setting.message("1");
        setting.message(std::string(32, 'a'));
        CHECK(setting.events == Events{WatchEvent::in_force, WatchEvent::hint, WatchEvent::hint});
    }
    SECTION("a subscription that was broken is in force again once the key was written again")
    {
        setting.hints().become(ConnectionState::backing_off);
        CHECK(setting.events.back() == WatchEvent::interrupted);
        setting.runtime->run_for(5s);
        CHECK(setting.ordinary().sent.size() == 1);
        setting.hints().become(ConnectionState::ready);
        setting.subscribe();
        CHECK(setting.events.size() == 2);
        setting.ordinary().answer(Value::status("OK"));
        CHECK(setting.events == Events{WatchEvent::in_force, WatchEvent::interrupted, WatchEvent::in_force});
    }
    SECTION("it writes nothing once it has ended, and no timer is left")
    {
        setting.watch.reset();
        setting.let_pass(20);
        CHECK(setting.ordinary().sent.size() == 1);
    }
    SECTION("nor once the store was shut down")
    {
        setting.backend->shutdown();
        CHECK(setting.runtime->timers() == 0);
    }
}

TEST_CASE("a key that could not be written for a while is written as soon as it can be, with a hint", "[redis][watch]")
{
    ObserverSetting setting;
    setting.observe();
    setting.subscribe();
    // the server is in trouble: it is not in force yet
    setting.ordinary().answer(Value::error("OOM command not allowed when used memory > 'maxmemory'."));
    setting.runtime->run_for(1s);
    CHECK(setting.events.empty());
    REQUIRE(setting.ordinary().unanswered() == 1);
    setting.ordinary().answer(Value::status("OK"));
    CHECK(setting.events == Events{WatchEvent::in_force});
    for (int i = 0; i < 65; ++i) {
        setting.let_pass(1);
        while (setting.ordinary().unanswered() > 0)
            setting.ordinary().answer(Value::error("OOM command not allowed when used memory > 'maxmemory'."));
    }
    CHECK(setting.events.size() == 1);
    setting.let_pass(1);
    setting.ordinary().answer(Value::status("OK"));
    CHECK(setting.events == Events{WatchEvent::in_force, WatchEvent::hint});
}

TEST_CASE("an observer that may not write the key says so once and goes on", "[redis][watch]")
{
    ObserverSetting setting;
    setting.observe();
    setting.subscribe();
    setting.ordinary().answer(Value::error("NOPERM this user has no permissions to access one of the keys"));
    CHECK(setting.events == Events{WatchEvent::in_force});
    CHECK(setting.runtime->logged("may not write {job}:watched") == 1);
    CHECK(setting.runtime->logged("grant +set and ~{job}:watched (NOPERM") == 1);
    setting.let_pass(60);
    // nor on the same connection for another watch
    Events others;
    auto const another =
        setting.backend->watch(named_key("job"), WatchAs::observer, [&](WatchEvent event) { others.push_back(event); });
    setting.runtime->run_ready();
    CHECK(others == Events{WatchEvent::in_force});
    CHECK(setting.ordinary().sent.size() == 1);
    CHECK(setting.runtime->logged("may not write") == 1);
}

TEST_CASE("messages are read as lists of names, and anything else is a hint", "[redis][watch]")
{
    using redis::whose_turn;
    std::string const own = "0123456789abcdef0123456789abcdef";
    std::string const other(32, 'f');
    CHECK(whose_turn(own, own) == WatchEvent::our_turn);
    CHECK(whose_turn(other + " " + own, own) == WatchEvent::our_turn);
    CHECK(whose_turn(own + " " + other, own) == WatchEvent::our_turn);
    CHECK(whose_turn(other, own) == WatchEvent::others_turn);
    CHECK(whose_turn(other + " " + other, own) == WatchEvent::others_turn);
    for (auto const& text :
         {std::string("1"), std::string(), std::string(" "), own + " ", " " + own, own + "  " + other,
          own + "\n" + other, own.substr(1), own + "0", std::string(32, 'F'), std::string(32, '\0'), own + " 1"})
        CHECK(whose_turn(text, own) == WatchEvent::hint);
}
