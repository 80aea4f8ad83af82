// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Many claims at once: their turns, how many bytes of nodes a session takes, and servers that answer few requests a
// second.
#include "unit/store/zookeeper/scripted_zookeeper.hpp"

#include "harness/paths.hpp"

#include <tenure/lock.hpp>
#include <tenure/store.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Kind = zookeeper::Request::Kind;
using zookeeper::RequestQueue;
using zookeeper::Session;
using zookeeper::SessionRoom;

namespace
{

[[nodiscard]] std::string name(std::size_t number, std::size_t length = 0)
{
    auto text = "k" + std::to_string(number) + ":";
    text.resize(std::max(length, text.size()), 'x');
    return text;
}

/** The lease comes to `into`, and a failure is counted. */
void acquire(
    Store const& store, std::string const& key, std::chrono::milliseconds wait, std::vector<Lease>& into,
    std::size_t& failed)
{
    LockConfig config;
    config.key = key;
    config.ttl = ScriptedZookeeper::ttl;
    Lock const lock(store, config);
    lock.async_acquire(AcquireOptions{.wait = wait}, [&](error_code error, Lease lease) {
        if (error)
            ++failed;
        else
            into.push_back(std::move(lease));
    });
}

/** Begins `count` claims beside a key that is held. The server answers nothing from now on. */
[[nodiscard]] std::vector<ScriptedZookeeper::ClaimAnswer> claim_unanswered(ScriptedZookeeper& store, std::size_t count)
{
    static_cast<void>(store.take("first:", "owner"));
    store.server.answer(false);
    std::vector<ScriptedZookeeper::ClaimAnswer> answers;
    for (std::size_t i = 0; i < count; ++i)
        answers.push_back(store.claim(name(i), "owner-" + std::to_string(i)));
    return answers;
}

} // namespace

TEST_CASE("claims begin in the order in which they came, and no more than a few at a time", "[zookeeper][window]")
{
    ScriptedZookeeper store;
    static_cast<void>(store.take("first:", "owner"));
    store.server.claimed.clear();
    store.server.most_waiting = 0;
    store.server.set_pause(1ms);
    std::vector<ScriptedZookeeper::ClaimAnswer> answers;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < 1000; ++i) {
        answers.push_back(store.claim(name(i), "owner-" + std::to_string(i)));
        paths.push_back("/" + name(i) + "/lock");
    }
    store.run_until([&] { return answers.back()->has_value(); });
    CHECK(store.server.claimed == paths);
    CHECK(store.server.most_waiting <= RequestQueue::unanswered_limit + 1);
}

TEST_CASE("a claim that was not its turn in time says how many were ahead of it", "[zookeeper][window]")
{
    ScriptedZookeeper store;
    static_cast<void>(store.take("first:", "owner"));
    store.server.answer(false);
    std::vector<ScriptedZookeeper::ClaimAnswer> answers;
    for (std::size_t i = 0; i < Session::claims_at_a_time + 10; ++i)
        answers.push_back(store.claim(name(i), "owner-" + std::to_string(i), std::nullopt, 500ms));
    store.runtime->run_for(600ms);
    REQUIRE(answers.back()->has_value());
    auto const& failure = std::get<Failure>(**answers.back());
    CHECK(failure.was_dropped());
    CHECK(failure.detail == std::to_string(Session::claims_at_a_time + 9) + " claims of this process were ahead of it");
}

TEST_CASE("a claim whose steps wait behind others on a working connection has progress", "[zookeeper][window]")
{
    ScriptedZookeeper store;
    static_cast<void>(store.take("first:", "owner"));
    store.server.set_pause(100ms);
    auto const waiting = std::make_shared<Claim>();
    for (std::size_t i = 0; i < 40; ++i)
        static_cast<void>(store.claim(name(i), "owner-" + std::to_string(i)));
    ClaimRequest request{named_key("waits:"), "waits", ScriptedZookeeper::ttl, {}, true, std::nullopt};
    request.not_after = {store.runtime->now() + 60s, Deadline::Mark(waiting, &waiting->mark)};
    bool answered = false;
    store.backend->claim(std::move(request), [&answered](ClaimReply&&) { answered = true; });
    store.runtime->run_for(1s);
    while (!answered) {
        // its request has left and is not answered: no further attempt would be answered sooner
        CHECK(store.runtime->now() - waiting->mark.progressed <= 200ms);
        store.runtime->run_for(100ms);
    }
}

TEST_CASE("a session takes nodes until their paths fill half of the longest transaction", "[zookeeper][sessions]")
{
    constexpr std::size_t longest = 65'536;
    ScriptedZookeeper store([](ZookeeperConfig& config) { config.jute_maxbuffer = longest; });
    constexpr std::size_t leases = 500;
    std::vector<ScriptedZookeeper::ClaimAnswer> answers;
    std::vector<ClaimPtr> claims;
    auto const owner = [](std::size_t i) { return "owner-" + std::to_string(i); };
    for (std::size_t i = 0; i < leases; ++i)
        answers.push_back(store.claim(name(i, 300), owner(i)));
    for (std::size_t i = 0; i < leases; ++i) {
        store.run_until([&] { return answers[i]->has_value(); });
        claims.push_back(ScriptedZookeeper::claim_of(name(i, 300), owner(i), **answers[i]));
    }
    auto const check_sessions = [&](std::size_t count) {
        auto const bytes = store.server.bytes_of_sessions();
        CHECK(bytes.size() == count);
        for (auto const& [session, used] : bytes)
            CHECK(used <= longest / SessionRoom::part);
    };
    auto const all = leases * SessionRoom::bytes_of("/" + name(0, 300) + "/lock");
    auto const needed = all / (longest / SessionRoom::part) + 1;
    check_sessions(needed);
    SECTION("a lease is renewed in its own session")
    {
        store.runtime->run_for(3s);
        std::vector<ScriptedZookeeper::RenewAnswerOf> renewals;
        for (auto const& claim : claims)
            renewals.push_back(store.renew(claim));
        for (auto const& renewal : renewals) {
            store.run_until([&] { return renewal->has_value(); });
            CHECK(std::holds_alternative<Renewed>(**renewal));
        }
    }
    SECTION("room that was given back is taken again")
    {
        for (int round = 0; round < 3; ++round) {
            for (std::size_t i = 0; i < leases / 2; ++i)
                REQUIRE(std::holds_alternative<Released>(store.release(claims[i])));
            for (std::size_t i = 0; i < leases / 2; ++i)
                claims[i] = store.take(name(i, 300), owner(i) + "-" + std::to_string(round));
            check_sessions(needed);
        }
    }
    SECTION("a node counts until its deletion is certain")
    {
        store.server.answer(false);
        for (std::size_t i = 0; i < leases; ++i)
            store.backend->release({claims[i], store.runtime->now() + 100ms, true}, [](ReleaseReply&&) {});
        store.runtime->run_for(50ms);
        store.server.break_connections();
        store.runtime->run_for(1s);
        store.server.answer(true);
        for (std::size_t i = 0; i < leases; ++i)
            static_cast<void>(store.take(name(leases + i, 300), owner(leases + i)));
        for (auto const& [session, used] : store.server.bytes_of_sessions())
            CHECK(used <= longest / SessionRoom::part);
    }
}

TEST_CASE("all attempts of an owner use one session, also if it has become full", "[zookeeper][sessions]")
{
    ScriptedZookeeper store([](ZookeeperConfig& config) { config.jute_maxbuffer = 65'536; });
    static_cast<void>(store.take("first:", "owner"));
    auto const began = store.runtime->now();
    store.server.answer(false);
    auto const first = store.claim(name(0, 1000), "owner-0");
    std::vector<ScriptedZookeeper::ClaimAnswer> others;
    for (std::size_t i = 1; i < 60; ++i)
        others.push_back(store.claim(name(i, 1000), "owner-" + std::to_string(i)));
    auto const second = store.claim(name(0, 1000), "owner-0", began);
    store.server.answer(true);
    store.run_until([&] { return first->has_value() && second->has_value(); });
    REQUIRE(std::holds_alternative<Granted>(**first));
    REQUIRE(std::holds_alternative<Granted>(**second));
    CHECK(std::get<Granted>(**first).fencing_token == std::get<Granted>(**second).fencing_token);
    store.run_until([&] { return std::ranges::all_of(others, [](auto const& one) { return one->has_value(); }); });
    // and after the first attempt has ended
    auto const third = store.claim(name(0, 1000), "owner-0", began);
    store.run_until([&] { return third->has_value(); });
    REQUIRE(std::holds_alternative<Granted>(**third));
    CHECK(std::get<Granted>(**first).fencing_token == std::get<Granted>(**third).fencing_token);
    CHECK(store.server.bytes_of_sessions().size() >= 2);
}

TEST_CASE(
    "a claim whose request was lost is repeated in its own session, although that is full", "[zookeeper][sessions]")
{
    ScriptedZookeeper store([](ZookeeperConfig& config) { config.jute_maxbuffer = 65'536; });
    static_cast<void>(store.take("first:", "owner"));
    auto const began = store.runtime->now();
    store.server.answer(false);
    auto const first = store.claim(name(0, 1000), "owner-0");
    store.runtime->run_for(50ms);
    store.server.break_connections(true);
    store.run_until([&] { return first->has_value(); });
    REQUIRE(std::get<Failure>(**first).may_take_effect());
    store.runtime->run_for(100ms);
    store.server.answer(true);
    std::vector<ScriptedZookeeper::ClaimAnswer> others;
    for (std::size_t i = 1; i < 60; ++i)
        others.push_back(store.claim(name(i, 1000), "owner-" + std::to_string(i)));
    store.run_until([&] { return std::ranges::all_of(others, [](auto const& one) { return one->has_value(); }); });
    REQUIRE(store.server.bytes_of_sessions().size() >= 2);
    auto const second = store.claim(name(0, 1000), "owner-0", began);
    store.run_until([&] { return second->has_value(); });
    auto const claim = ScriptedZookeeper::claim_of(name(0, 1000), "owner-0", **second);
    store.runtime->run_for(3s);
    CHECK(std::holds_alternative<Renewed>(store.renewed(claim)));
}

TEST_CASE("thousands of releases delay no proof", "[zookeeper][load]")
{
    ScriptedZookeeper zookeeper;
    {
        Store store(zookeeper.runtime, zookeeper.backend, StoreOptions{"worker", {}});
        std::vector<Lease> held;
        std::vector<Lease> many;
        auto const acquire = [&](std::string const& key, std::vector<Lease>& into) {
            LockConfig config;
            config.key = key;
            config.ttl = ScriptedZookeeper::ttl;
            Lock const lock(store, config);
            lock.async_acquire(AcquireOptions{.wait = 20s}, [&into](error_code error, Lease lease) {
                if (!error)
                    into.push_back(std::move(lease));
            });
        };
        for (int i = 0; i < 50; ++i)
            acquire("held-" + std::to_string(i) + ":", held);
        for (std::size_t i = 0; i < 6000; ++i)
            acquire(name(i), many);
        zookeeper.run_until([&] { return held.size() == 50 && many.size() == 6000; });
        zookeeper.runtime->run_for(5s);
        zookeeper.server.set_pause(std::chrono::nanoseconds(1s) / 400);
        many.clear();
        zookeeper.runtime->run_for(30s);
        CHECK(std::ranges::none_of(held, [](Lease const& lease) { return lease.token().cancelled(); }));
    }
    zookeeper.runtime->run_for(60s);
}

TEST_CASE("a claim that is not sent yet is dropped when it is withdrawn", "[zookeeper][window]")
{
    ScriptedZookeeper store;
    auto const answers = claim_unanswered(store, 2 * Session::claims_at_a_time);
    bool withdrawn = false;
    auto const last = answers.size() - 1;
    store.backend->withdraw(
        {named_key(name(last)), "owner-" + std::to_string(last), store.runtime->now() + 10s, true, {}},
        [&withdrawn](WithdrawReply&&) { withdrawn = true; });
    store.server.answer(true);
    store.run_until([&] { return withdrawn && answers[last]->has_value() && answers[last - 1]->has_value(); });
    CHECK(std::get<Failure>(**answers[last]).was_dropped());
    CHECK(std::holds_alternative<Granted>(**answers[last - 1]));
    CHECK_FALSE(store.server.nodes.contains("/" + name(last) + "/lock"));
}

TEST_CASE("claims that wait for their turn wait on when the connection is lost", "[zookeeper][window]")
{
    ScriptedZookeeper store;
    auto const answers = claim_unanswered(store, 3 * Session::claims_at_a_time);
    store.runtime->run_for(100ms);
    store.server.break_connections();
    store.runtime->run_for(100ms);
    store.server.answer(true);
    store.run_until([&] { return std::ranges::all_of(answers, [](auto const& one) { return one->has_value(); }); });
    for (std::size_t i = 0; i < answers.size(); ++i) {
        CAPTURE(i);
        // the first ones were sent, and their outcome is unknown
        CHECK(std::holds_alternative<Granted>(**answers[i]) == (i >= Session::claims_at_a_time));
    }
}

TEST_CASE("a slow server loses no lease, and grants each claim that it can", "[zookeeper][load]")
{
    struct Load {
        int per_second;
        std::size_t claims;
        std::chrono::milliseconds wait;
    };
    auto const load = GENERATE(Load{50, 400, 20s}, Load{500, 4000, 20s}, Load{5000, 10'000, 10s});
    CAPTURE(load.per_second);
    ScriptedZookeeper zookeeper;
    zookeeper.server.set_pause(std::chrono::nanoseconds(1s) / load.per_second);
    {
        Store store(zookeeper.runtime, zookeeper.backend, StoreOptions{"worker", {}});
        std::vector<Lease> held;
        std::vector<Lease> granted;
        std::size_t failed = 0;
        for (int i = 0; i < 50; ++i)
            acquire(store, "held-" + std::to_string(i) + ":", 20s, held, failed);
        zookeeper.run_until([&] { return held.size() == 50; });
        zookeeper.runtime->run_for(5s);
        for (std::size_t i = 0; i < load.claims; ++i)
            acquire(store, name(i), load.wait, granted, failed);
        zookeeper.run_until([&] { return granted.size() + failed == load.claims; });
        CHECK(granted.size() == load.claims);
        // no claim was sent more than once
        CHECK(zookeeper.server.executed[Kind::claim] == 50 + load.claims);
        zookeeper.runtime->run_for(2 * ScriptedZookeeper::ttl);
        CHECK(std::ranges::none_of(held, [](Lease const& lease) { return lease.token().cancelled(); }));
        CHECK(std::ranges::none_of(granted, [](Lease const& lease) { return lease.token().cancelled(); }));
    }
    zookeeper.runtime->run_for(60s);
}

TEST_CASE("more claims than a server can answer leave its pace as it is", "[zookeeper][load]")
{
    constexpr int per_second = 200;
    constexpr auto wait = 10s;
    ScriptedZookeeper zookeeper;
    zookeeper.server.set_pause(std::chrono::nanoseconds(1s) / per_second);
    {
        Store store(zookeeper.runtime, zookeeper.backend, StoreOptions{"worker", {}});
        std::vector<Lease> granted;
        std::size_t failed = 0;
        constexpr std::size_t claims = 3 * per_second * 10;
        for (std::size_t i = 0; i < claims; ++i)
            acquire(store, name(i), wait, granted, failed);
        zookeeper.run_until([&] { return granted.size() + failed == claims; });
        // each lease also costs a read
        CHECK(granted.size() >= per_second * 10 * 4 / 10);
        zookeeper.runtime->run_for(2 * ScriptedZookeeper::ttl);
        CHECK(std::ranges::none_of(granted, [](Lease const& lease) { return lease.token().cancelled(); }));
    }
    zookeeper.runtime->run_for(60s);
}

TEST_CASE("an expired node is looked at once, however late the server answers", "[zookeeper][load]")
{
    ScriptedZookeeper store;
    for (std::size_t i = 0; i < 100; ++i)
        static_cast<void>(store.take(name(i), "owner-" + std::to_string(i)));
    store.server.set_pause(20ms);
    store.run_until([&] { return store.server.nodes.empty(); });
    // of the generation and of the node
    CHECK(store.server.executed[Kind::get] <= 200);
}

TEST_CASE("watches are set again a few at a time after a new connection", "[zookeeper][watches]")
{
    ScriptedZookeeper store;
    std::vector<std::unique_ptr<Watch>> watches;
    std::size_t in_force = 0;
    for (std::size_t i = 0; i < 2000; ++i)
        watches.push_back(store.backend->watch(named_key(name(i)), WatchAs::waiter, [&in_force](WatchEvent event) {
            in_force += event == WatchEvent::in_force ? 1 : 0;
        }));
    store.run_until([&] { return in_force == 2000; });
    store.server.most_waiting = 0;
    store.server.break_connections();
    store.run_until([&] { return in_force == 4000; });
    CHECK(store.server.most_waiting <= RequestQueue::unanswered_limit);
}

TEST_CASE("the limits of ZooKeeper in the docs are those of the code", "[zookeeper][docs]")
{
    std::ostringstream text;
    text << std::ifstream(source_path("docs/integrators/zookeeper-protocol.md")).rdbuf();
    auto const page = text.str();
    auto const row = [&](std::string const& constant, std::size_t value) {
        CAPTURE(constant);
        CHECK_THAT(page, ContainsSubstring("`" + constant + "` = " + std::to_string(value)));
    };
    row("SessionRoom::part", SessionRoom::part);
    row("SessionRoom::path_overhead", SessionRoom::path_overhead);
    row("RequestQueue::unanswered_limit", RequestQueue::unanswered_limit);
    row("Session::claims_at_a_time", Session::claims_at_a_time);
    row("ZookeeperConfig::jute_maxbuffer", ZookeeperConfig{}.jute_maxbuffer);
}
