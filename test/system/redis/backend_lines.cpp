// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lines of waiters as releases see them on a real server.
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Events = std::vector<WatchEvent>;

namespace
{

/** A store that watches one range. */
struct Listener {
    LiveBackend live;
    Events events;
    std::unique_ptr<Watch> watch;

    Listener(RedisServer const& server, KeyRangePtr const& range, WatchAs as)
        : live(server)
    {
        live.on_strand(
            [&] { watch = live.backend().watch(range, as, [this](WatchEvent event) { events.push_back(event); }); });
        live.run_until([this] { return count(WatchEvent::in_force) == 1; });
    }
    ~Listener()
    {
        live.on_strand([this] { watch.reset(); });
    }

    [[nodiscard]] std::size_t count(WatchEvent event) const
    {
        return static_cast<std::size_t>(std::count(events.begin(), events.end(), event));
    }
    /** Waits for `messages` messages, and returns them. */
    [[nodiscard]] Events heard(std::size_t messages)
    {
        live.run_until([&] { return events.size() >= messages + 1; });
        return {events.begin() + 1, events.end()};
    }
};

/** The name under which a store stands in lines: the server's slow log has the command with which it leaves one. */
std::string name_of(LiveBackend& live, RedisClient& client)
{
    auto const range = named_key("nobody waits for this");
    static_cast<void>(expect<Granted>(live.claim(range, owner(1), false)));
    client.call("CONFIG", "SET", "slowlog-log-slower-than", "0");
    client.call("SLOWLOG", "RESET");
    live.on_strand([&] { live.backend().leave_line(range); });
    static_cast<void>(expect<Released>(live.release(claim_of(range, owner(1), 0), false)));
    client.call("CONFIG", "SET", "slowlog-log-slower-than", "-1");
    for (auto const& entry : client.call("SLOWLOG", "GET", "16").elements)
        if (auto const& words = entry.elements.at(3).elements; words.at(0).text == "LREM")
            return words.at(3).text;
    throw std::runtime_error("no store has left a line");
}

std::vector<std::string> line(RedisClient& client, std::string const& key)
{
    std::vector<std::string> names;
    for (auto const& name : client.call("LRANGE", key, "0", "-1").elements)
        names.push_back(name.text);
    return names;
}

/** How often a command has run, also from scripts. */
std::int64_t runs_of(RedisClient& client, std::string const& command)
{
    auto const text = client.call("INFO", "commandstats").text;
    auto const mark = "cmdstat_" + command + ":calls=";
    auto const at = text.find(mark);
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + mark.size()));
}

std::string const other(32, 'f');

ReleaseRequest release_of(LiveBackend const& live, KeyRangePtr const& range, std::uint32_t index)
{
    return {claim_of(range, owner(index), index), live.now() + 10s, true};
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a release names the first in line, and each store is notified whose turn it is",
    "[redis][backend][line]")
{
    auto client = server.client();
    auto const range = GENERATE(named_key("job"), named_key("{tagged}:job"), numbered_keys("pool:", 3));
    auto const key = range->prefix.front() == '{' ? "{tagged}:job:waiting" : "{" + range->prefix + "}:waiting";
    CAPTURE(key);
    LiveBackend releaser(server);
    Listener first(server, range, WatchAs::waiter);
    Listener second(server, range, WatchAs::waiter);
    auto const first_name = name_of(first.live, client);
    auto const second_name = name_of(second.live, client);
    auto const own_name = name_of(releaser, client);
    REQUIRE(first_name != second_name);
    client.call("RPUSH", key, first_name, second_name, own_name, other);

    auto const claim_and_release = [&] {
        static_cast<void>(expect<Granted>(releaser.claim(range, owner(0))));
        return expect<Released>(releaser.release(claim_of(range, owner(0), 0))).named_another;
    };
    CHECK(claim_and_release());
    CHECK(first.heard(1).back() == WatchEvent::our_turn);
    CHECK(second.heard(1).back() == WatchEvent::others_turn);
    CHECK(line(client, key) == std::vector{second_name, own_name, other});

    CHECK(claim_and_release());
    CHECK(first.heard(2).back() == WatchEvent::others_turn);
    CHECK(second.heard(2).back() == WatchEvent::our_turn);

    // its own turn: its waiters need not hold back
    CHECK_FALSE(claim_and_release());
    CHECK(first.heard(3).back() == WatchEvent::others_turn);

    first.live.on_strand([&] { first.live.backend().leave_line(range); });
    second.live.on_strand([&] { second.live.backend().leave_line(range); });
    // a withdrawal frees, too
    static_cast<void>(expect<Granted>(releaser.claim(range, owner(0))));
    static_cast<void>(expect<Released>(releaser.withdraw(range, owner(0))));
    CHECK(first.heard(4).back() == WatchEvent::others_turn);
    CHECK(client.keys(key).empty());
}

TEST_CASE_METHOD(LiveBackendTest, "a store leaves a line alone, wherever it stands in it", "[redis][backend][line]")
{
    auto const name = name_of(live, client);
    client.call("RPUSH", "{job}:waiting", other, name, other + "0");
    live.on_strand([&] { live.backend().leave_line(named_key("job")); });
    static_cast<void>(expect<Granted>(live.claim(named_key("job"), owner(1), false)));
    CHECK(line(client, "{job}:waiting") == std::vector{other, other + "0"});
}

TEST_CASE_METHOD(
    RedisTest, "releases of one call name one store for each freed key, in one message for each range",
    "[redis][backend][line]")
{
    auto client = server.client();
    auto const pool = numbered_keys("pool:", 4);
    LiveBackend releaser(server);
    Listener waiter(server, pool, WatchAs::waiter);
    Listener stranger(server, named_key("lock"), WatchAs::waiter);
    Listener observer(server, named_key("watched"), WatchAs::observer);
    auto const own_name = name_of(releaser, client);
    for (std::uint32_t i = 0; i < 4; ++i)
        REQUIRE(expect<Granted>(releaser.claim(pool, owner(i))).index == i);
    for (auto const* const key : {"lock", "quiet", "watched"})
        static_cast<void>(expect<Granted>(releaser.claim(named_key(key), owner(0))));
    client.call("SET", "pool:2", "a thief");
    client.call("RPUSH", "{pool:}:waiting", own_name, name_of(waiter.live, client), other);
    client.call("RPUSH", "{lock}:waiting", other);
    auto const published = runs_of(client, "publish");

    // the first one is sent at once and alone: a key without waiters
    std::vector<ReleaseRequest> requests{release_of(releaser, named_key("quiet"), 0)};
    for (std::uint32_t i = 0; i < 3; ++i)
        requests.push_back(release_of(releaser, pool, i));
    requests.push_back(release_of(releaser, named_key("lock"), 0));
    requests.push_back(release_of(releaser, named_key("watched"), 0));
    requests.push_back(release_of(releaser, pool, 3));
    auto const replies = releaser.ask_together(&Backend::release, requests);
    auto const named = [&](std::size_t i) { return expect<Released>(replies.at(i)).named_another; };
    CHECK_FALSE(named(0));
    CHECK_FALSE(named(1)); // its own name
    CHECK(named(2));
    static_cast<void>(expect<NotOwner>(replies.at(3)));
    CHECK(named(4));
    CHECK_FALSE(named(5));
    CHECK(named(6));
    CHECK(waiter.heard(1) == Events{WatchEvent::our_turn});
    CHECK(stranger.heard(1) == Events{WatchEvent::others_turn});
    CHECK(observer.heard(1) == Events{WatchEvent::hint});
    CHECK(runs_of(client, "publish") == published + 3);
    CHECK(client.keys("*:waiting").empty());
    CHECK(client.get("pool:2") == "a thief");
}

TEST_CASE_METHOD(RedisTest, "a key that one call gives back twice names one store", "[redis][backend][line]")
{
    auto client = server.client();
    auto const range = named_key("lock");
    LiveBackend releaser(server);
    static_cast<void>(expect<Granted>(releaser.claim(range, owner(0))));
    static_cast<void>(expect<Granted>(releaser.claim(named_key("quiet"), owner(0))));
    client.call("RPUSH", "{lock}:waiting", other, name_of(releaser, client));
    // the first leaves alone, and the others share a call
    auto const replies = releaser.ask_together(
        &Backend::release, std::vector{
                               release_of(releaser, named_key("quiet"), 0), release_of(releaser, range, 0),
                               release_of(releaser, range, 0)});
    CHECK(expect<Released>(replies.at(1)).named_another);
    CHECK_FALSE(expect<Released>(replies.at(2)).named_another);
    CHECK(line(client, "{lock}:waiting").size() == 1);
}

TEST_CASE_METHOD(LiveBackendTest, "a key without waiters is released without a message", "[redis][backend][line]")
{
    auto const pool = numbered_keys("pool:", 8);
    auto const lock = named_key("job");
    std::vector<ReleaseRequest> requests;
    for (std::uint32_t i = 0; i < 8; ++i) {
        static_cast<void>(expect<Granted>(live.claim(pool, owner(i))));
        requests.push_back(release_of(live, pool, i));
    }
    for (auto const& reply : live.ask_together(&Backend::release, requests))
        CHECK_FALSE(expect<Released>(reply).named_another);
    static_cast<void>(expect<Granted>(live.claim(lock, owner(1))));
    CHECK_FALSE(expect<Released>(live.release(claim_of(lock, owner(1), 0))).named_another);
    static_cast<void>(expect<Granted>(live.claim(lock, owner(1))));
    static_cast<void>(expect<Released>(live.withdraw(lock, owner(1))));
    static_cast<void>(expect<Released>(live.withdraw(lock, owner(1))));
    CHECK(runs_of(client, "publish") == 0);
    CHECK(runs_of(client, "lpop") == 0);
}

TEST_CASE_METHOD(LiveBackendTest, "an observer hears of every release while it watches", "[redis][backend][line]")
{
    auto const range = numbered_keys("pool:", 2);
    {
        Listener observer(server, range, WatchAs::observer);
        CHECK(client.get("{pool:}:watched") == "1");
        auto const left = client.pttl("{pool:}:watched");
        CHECK(left > 50'000);
        CHECK(left <= 60'000);
        for (std::size_t i = 1; i <= 3; ++i) {
            static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
            static_cast<void>(expect<Released>(live.release(claim_of(range, owner(1), 0))));
            CHECK(observer.heard(i) == Events(i, WatchEvent::hint));
        }
        static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
        static_cast<void>(expect<Released>(live.withdraw(range, owner(1))));
        CHECK(observer.heard(4) == Events(4, WatchEvent::hint));
        // two in one call, behind one that leaves alone
        std::vector<ReleaseRequest> requests{release_of(live, named_key("first"), 0)};
        for (std::uint32_t i = 0; i < 2; ++i) {
            static_cast<void>(expect<Granted>(live.claim(range, owner(i))));
            requests.push_back(release_of(live, range, i));
        }
        static_cast<void>(live.ask_together(&Backend::release, requests));
        CHECK(observer.heard(5) == Events(5, WatchEvent::hint));
        // also where a waiter is named
        client.call("RPUSH", "{pool:}:waiting", other);
        static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
        static_cast<void>(expect<Released>(live.withdraw(range, owner(1))));
        CHECK(observer.heard(6) == Events(6, WatchEvent::hint));
    }
    client.call("DEL", "{pool:}:watched");
    auto const published = runs_of(client, "publish");
    static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
    static_cast<void>(expect<Released>(live.release(claim_of(range, owner(1), 0))));
    CHECK(runs_of(client, "publish") == published);
}

TEST_CASE_METHOD(
    LiveBackendTest, "a quarantined key notifies the first in line, which learns its expiry", "[redis][backend][line]")
{
    auto const range = numbered_keys("pool:", 2);
    Listener waiter(server, range, WatchAs::waiter);
    client.call("RPUSH", "{pool:}:waiting", name_of(waiter.live, client), other);
    static_cast<void>(expect<Granted>(live.claim(range, owner(1))));
    auto const claim = std::make_shared<Claim>();
    claim->range = range;
    claim->owner = owner(1);
    claim->reuse_after = 5s;
    std::vector<ReleaseRequest> const requests{{claim, live.now() + 10s, true}};
    CHECK(expect<Released>(live.ask_together(&Backend::release, requests).front()).named_another);
    CHECK(waiter.heard(1) == Events{WatchEvent::our_turn});
    CHECK(client.pttl("pool:0") > 4'000);
    CHECK(line(client, "{pool:}:waiting") == std::vector{other});
}

TEST_CASE(
    "where the line is refused, releases tell all, and the server hears of it once", "[redis][backend][line][acl]")
{
    require_redis();
    auto const without = GENERATE("+@all -lpos -lpop ~*", "+@all ~job ~pool:* ~tenure:fence");
    CAPTURE(without);
    RedisServer server{{.config = {std::string("user worker on >secret &* ") + without}}};
    auto client = server.client();
    LiveBackend live(worker_of(server));
    auto const lock = named_key("job");
    auto const pool = numbered_keys("pool:", 3);
    Listener waiter(server, lock, WatchAs::waiter);
    Listener pool_waiter(server, pool, WatchAs::waiter);
    client.call("RPUSH", "{job}:waiting", other);
    client.call("RPUSH", "{pool:}:waiting", other);
    for (std::size_t i = 1; i <= 2; ++i) {
        static_cast<void>(expect<Granted>(live.claim(lock, owner(0), false)));
        CHECK_FALSE(expect<Released>(live.release(claim_of(lock, owner(0), 0))).named_another);
        CHECK(waiter.heard(i) == Events(i, WatchEvent::hint));
    }
    std::vector<ReleaseRequest> requests{release_of(live, named_key("job"), 0)};
    for (std::uint32_t i = 0; i < 3; ++i) {
        static_cast<void>(expect<Granted>(live.claim(pool, owner(i), false)));
        requests.push_back(release_of(live, pool, i));
    }
    static_cast<void>(live.ask_together(&Backend::release, requests));
    CHECK(pool_waiter.heard(1) == Events{WatchEvent::hint});
    static_cast<void>(expect<Granted>(live.claim(lock, owner(0), false)));
    static_cast<void>(expect<Released>(live.withdraw(lock, owner(0))));
    live.on_strand([&] { live.backend().leave_line(lock); });
    CHECK(waiter.heard(3) == Events(3, WatchEvent::hint));

    CHECK(live.logged("may not use the line of waiters {job}:waiting") == 1);
    CHECK(live.logged("may not use the line of waiters") == 1);
    auto const entries = client.call("ACL", "LOG").elements;
    REQUIRE(entries.size() == 1);
    CHECK(entries.front().elements.at(1).integer == 1);
    CHECK(line(client, "{job}:waiting") == std::vector{other});
}

TEST_CASE_METHOD(
    LiveBackendTest, "another program's key in the place of a line spoils no other line", "[redis][backend][line]")
{
    auto const lock = named_key("job");
    Listener waiter(server, lock, WatchAs::waiter);
    client.call("SET", "{job}:waiting", "something else");
    client.call("RPUSH", "{next}:waiting", other);
    static_cast<void>(expect<Granted>(live.claim(lock, owner(1))));
    CHECK_FALSE(expect<Released>(live.release(claim_of(lock, owner(1), 0))).named_another);
    CHECK(waiter.heard(1) == Events{WatchEvent::hint});
    static_cast<void>(expect<Granted>(live.claim(named_key("next"), owner(1))));
    CHECK(expect<Released>(live.release(claim_of(named_key("next"), owner(1), 0))).named_another);
    CHECK(client.get("{job}:waiting") == "something else");
    CHECK(live.logged("line of waiters") == 0);
}
