// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests that a node redirects.
#include "store/redis/cluster/redirect.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tenure::test
{

using namespace redis;
using namespace std::chrono_literals;

namespace
{

ServerAddress const asked_server{"10.0.0.7", 7000};
Instant const start{100s};

std::optional<Redirect> read(std::string const& error)
{
    return read_redirect(resp::Value::error(error), asked_server);
}

RedirectRules rules(Migration migration, Instant not_after = start + 10s)
{
    return {migration, not_after, [] { return std::uint64_t{0}; }};
}

template <class Wanted>
bool is(RedirectRules::Decision const& decision)
{
    return std::holds_alternative<Wanted>(decision);
}

using Send = RedirectRules::Send;
using Wait = RedirectRules::Wait;
using GiveUp = RedirectRules::GiveUp;

} // namespace

TEST_CASE("redirects are read with their slot and address", "[cluster]")
{
    auto const moved = read("MOVED 3999 127.0.0.1:6381");
    REQUIRE(moved);
    CHECK(moved->kind == Redirect::Kind::moved);
    CHECK(moved->slot == 3999);
    CHECK(moved->address == ServerAddress{"127.0.0.1", 6381});
    CHECK(read("ASK 1 a.example:1")->kind == Redirect::Kind::ask);
    CHECK(read("MOVED 1 :6381")->address == ServerAddress{"10.0.0.7", 6381});
    CHECK(read("MOVED 1 2001:db8::1:6381")->address == ServerAddress{"2001:db8::1", 6381});
    CHECK(read("MOVED 1 ?:6381")->address.host.empty());
    CHECK(read("TRYAGAIN Multiple keys request during rehashing of slot")->kind == Redirect::Kind::try_again);
    CHECK(read("CLUSTERDOWN Hash slot not served")->kind == Redirect::Kind::down);
    // as scripts of Redis 6 and 7 say it
    CHECK(
        read(
            "ERR Error running script (call to f_1): @user_script:3: @user_script: 3: Lua script attempted to access a "
            "non local key in a cluster node")
            ->kind == Redirect::Kind::try_again);
    CHECK(
        read("ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:3.")->kind ==
        Redirect::Kind::try_again);
    CHECK(
        read("ERR Script attempted to execute a write command while the cluster is down and readonly script: 1")
            ->kind == Redirect::Kind::down);
}

TEST_CASE("a redirect with an unreadable address leaves the address to the next map", "[cluster]")
{
    for (std::string const error :
         {"MOVED x", "MOVED 99999 a:1", "MOVED 5", "MOVED 5 a", "MOVED 5 a:0", "MOVED 5 a:x", "MOVED 5 a:70000"}) {
        auto const redirect = read(error);
        REQUIRE(redirect);
        CHECK(redirect->address.host.empty());
    }
    CHECK_FALSE(read("NOPERM no"));
    CHECK_FALSE(read("MOVED"));
    CHECK_FALSE(read_redirect(resp::Value::text("MOVED 1 a:1"), asked_server));
}

TEST_CASE("MOVED is followed at once, then with pauses, and not for ever", "[cluster]")
{
    for (auto const migration : {Migration::follow, Migration::wait, Migration::fail_fast}) {
        auto machine = rules(migration);
        auto const moved = *read("MOVED 1 a:1");
        auto const first = machine.redirected(moved, start);
        REQUIRE(is<Send>(first));
        CHECK_FALSE(std::get<Send>(first).asking);
        auto now = start;
        for (int i = 2; i <= RedirectRules::budget; ++i) {
            auto const next = machine.redirected(moved, now);
            REQUIRE(is<Wait>(next));
            CHECK(std::get<Wait>(next).until > now);
            now = std::get<Wait>(next).until;
        }
        CHECK(is<GiveUp>(machine.redirected(moved, now)));
    }
}

TEST_CASE("ASK is followed by what creates no keys, and waited for by what does", "[cluster]")
{
    auto const ask = *read("ASK 1 a:1");
    auto follows = rules(Migration::follow);
    auto const sent = follows.redirected(ask, start);
    REQUIRE(is<Send>(sent));
    CHECK(std::get<Send>(sent).asking == ServerAddress{"a", 1});
    for (int i = 2; i <= RedirectRules::budget; ++i)
        CHECK(is<Send>(follows.redirected(ask, start)));
    CHECK(is<GiveUp>(follows.redirected(ask, start)));

    auto fails_fast = rules(Migration::fail_fast);
    CHECK(is<GiveUp>(fails_fast.redirected(ask, start)));

    // until its time is over, with growing pauses: 10 s are not more than a hundred requests
    auto waits = rules(Migration::wait);
    auto now = start;
    int asked_again = 0;
    for (;;) {
        auto const decision = waits.redirected(ask, now);
        if (is<GiveUp>(decision))
            break;
        REQUIRE(is<Wait>(decision));
        now = std::get<Wait>(decision).until;
        ++asked_again;
    }
    CHECK(now < start + 10s);
    CHECK(now > start + 9s);
    CHECK(asked_again < 100);
    CHECK(asked_again > 10);
}

TEST_CASE("TRYAGAIN and CLUSTERDOWN are waited for by claims alone", "[cluster]")
{
    for (auto const& redirect : {*read("TRYAGAIN x"), *read("CLUSTERDOWN x")}) {
        auto follows = rules(Migration::follow);
        CHECK(is<GiveUp>(follows.redirected(redirect, start)));
        auto fails_fast = rules(Migration::fail_fast);
        CHECK(is<GiveUp>(fails_fast.redirected(redirect, start)));
        auto waits = rules(Migration::wait);
        CHECK(is<Wait>(waits.redirected(redirect, start)));
        auto late = rules(Migration::wait, start + 1ms);
        CHECK(is<GiveUp>(late.redirected(redirect, start)));
    }
}

TEST_CASE("an unsent request is tried again until its time is over", "[cluster]")
{
    auto machine = rules(Migration::follow, start + 1s);
    auto now = start;
    int tries = 0;
    for (auto decision = machine.not_sent(now); is<Wait>(decision); decision = machine.not_sent(now), ++tries)
        now = std::get<Wait>(decision).until;
    CHECK(tries > 5);
    CHECK(tries < 40);
    CHECK(now < start + 1s);
}

TEST_CASE("a redirect that was given up reads as trouble that passes", "[cluster]")
{
    for (std::string const error : {"MOVED 7 a:1", "ASK 7 a:1", "TRYAGAIN x", "CLUSTERDOWN x"}) {
        auto const reply = given_up_reply(*read(error), resp::Value::error(error));
        auto const meaning = classify(reply.as_string());
        CHECK(meaning.error == errc::store_refused);
        CHECK_FALSE(meaning.fatal);
    }
    auto const moved = given_up_reply(*read("MOVED 7 a:1"), resp::Value::error("MOVED 7 a:1"));
    CHECK(moved.as_string().find("hash slot 7") != std::string_view::npos);
    CHECK(moved.as_string().find("a:1") != std::string_view::npos);
}

} // namespace tenure::test
