// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How renewals are proven: each node is read once with a watch, and then one write proves all of them, until a watch
// fires or the connection ends.
#include "unit/store/zookeeper/scripted_zookeeper.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;
using Kind = zookeeper::Request::Kind;

namespace
{

[[nodiscard]] std::string key(int number)
{
    return "job" + std::to_string(number) + ":";
}

[[nodiscard]] std::string path(int number)
{
    return "/" + key(number) + "/lock";
}

[[nodiscard]] std::string owner(int number)
{
    return "owner-" + std::to_string(number);
}

[[nodiscard]] bool is_renewed(RenewReply const& reply)
{
    return std::holds_alternative<Renewed>(reply);
}

[[nodiscard]] bool is_lost(RenewReply const& reply)
{
    return std::holds_alternative<NotOwner>(reply);
}

/** A hundred leases, each renewed once, so that all nodes are known. */
struct Hundred : ScriptedZookeeper {
    Hundred()
    {
        for (int i = 0; i < 100; ++i)
            claims.push_back(take(key(i), owner(i)));
        for (auto const& reply : renew_all())
            if (!is_renewed(reply))
                throw std::runtime_error("a lease was not renewed");
    }
    [[nodiscard]] std::vector<RenewReply> renew_all()
    {
        std::vector<RenewAnswerOf> answers;
        answers.reserve(claims.size());
        for (auto const& claim : claims)
            answers.push_back(renew(claim));
        std::vector<RenewReply> replies;
        for (auto const& answer : answers) {
            run_until([&] { return answer->has_value(); });
            replies.push_back(**answer);
        }
        return replies;
    }
    [[nodiscard]] std::size_t reads() { return server.executed[Kind::get]; }
    [[nodiscard]] std::size_t writes() { return server.executed[Kind::check]; }

    std::vector<ClaimPtr> claims;
};

} // namespace

TEST_CASE("each node is read once, and then one write proves them all", "[zookeeper][proofs]")
{
    Hundred held;
    CHECK(held.reads() == 100);
    for (int round = 0; round < 5; ++round) {
        held.runtime->run_for(3s);
        auto const before = held.writes();
        auto const asked = held.runtime->now();
        for (auto const& reply : held.renew_all()) {
            REQUIRE(is_renewed(reply));
            // only writes up to a tick before the last answered write count
            auto const since = std::get<Renewed>(reply).since;
            CHECK(since <= asked);
            CHECK(since > asked - 2s);
        }
        CHECK(held.writes() - before <= 2);
    }
    CHECK(held.reads() == 100);
}

TEST_CASE("leases whose renewal was not asked for are not extended", "[zookeeper][proofs]")
{
    Hundred held;
    for (int round = 0; round < 4; ++round) {
        held.runtime->run_for(3s);
        CHECK(is_renewed(held.renewed(held.claims[0])));
    }
    held.runtime->run_for(3s);
    CHECK(held.server.nodes.contains(path(0)));
    // the process removes nodes that were not renewed for a ttl
    CHECK_FALSE(held.server.nodes.contains(path(1)));
    CHECK(is_lost(held.renewed(held.claims[1])));
}

TEST_CASE("a write does not prove a node that changed before the server executed it", "[zookeeper][proofs]")
{
    Hundred held;
    held.runtime->run_for(3s);
    held.server.answer(false);
    auto const evicted = held.renew(held.claims[0]);
    auto const deleted = held.renew(held.claims[1]);
    auto const taken = held.renew(held.claims[2]);
    auto const touched = held.renew(held.claims[3]);
    auto const untouched = held.renew(held.claims[4]);
    // the write is on its way
    held.runtime->run_for(1s);
    REQUIRE(held.server.waiting() > 0);
    held.server.set(path(0), "evicted/somebody\n");
    held.server.remove(path(1));
    held.server.remove(path(2));
    held.server.create(path(2), "another\n", 4711);
    held.server.set(path(3), held.server.nodes[path(3)].data);
    auto const reads = held.reads();
    held.server.answer(true);
    held.run_until([&] {
        return evicted->has_value() && deleted->has_value() && taken->has_value() && touched->has_value() &&
               untouched->has_value();
    });
    CHECK(is_lost(**evicted));
    CHECK(is_lost(**deleted));
    CHECK(is_lost(**taken));
    CHECK(is_renewed(**touched));
    CHECK(is_renewed(**untouched));
    CHECK(held.reads() - reads == 4);
    CHECK(held.server.nodes.at(path(2)).data == "another\n");
}

TEST_CASE("a change between two renewals is noticed by the next one", "[zookeeper][proofs]")
{
    Hundred held;
    held.runtime->run_for(1s);
    held.server.set(path(0), "evicted/somebody\n");
    held.server.remove(path(1));
    held.server.remove(path(2));
    held.server.create(path(2), "another\n", 4711);
    held.runtime->run_for(2s);
    auto const replies = held.renew_all();
    for (std::size_t i = 0; i < replies.size(); ++i) {
        CAPTURE(i);
        CHECK(is_lost(replies[i]) == (i < 3));
    }
}

TEST_CASE("after a new connection each node is read again before it is proven, a few at a time", "[zookeeper][proofs]")
{
    Hundred held;
    held.runtime->run_for(1s);
    auto const reads = held.reads();
    held.server.most_waiting = 0;
    held.server.break_connections();
    // no watch tells of these changes
    held.server.set(path(0), "evicted/somebody\n");
    held.server.remove(path(1));
    held.server.remove(path(2));
    held.server.create(path(2), "another\n", 4711);
    held.runtime->run_for(2s);
    CHECK(held.reads() == reads);
    auto const replies = held.renew_all();
    for (std::size_t i = 0; i < replies.size(); ++i) {
        CAPTURE(i);
        CHECK(is_lost(replies[i]) == (i < 3));
    }
    CHECK(held.reads() - reads == 100);
    // and the regular write, which does not wait behind them
    CHECK(held.server.most_waiting <= zookeeper::RequestQueue::unanswered_limit + 1);
}

TEST_CASE("a renewal that is asked for again while its node is read costs no second read", "[zookeeper][proofs]")
{
    ScriptedZookeeper store;
    auto const claim = store.take(key(0), owner(0));
    store.runtime->run_for(1s);
    store.server.answer(false);
    std::vector<ScriptedZookeeper::RenewAnswerOf> answers;
    for (int i = 0; i < 10; ++i)
        answers.push_back(store.renew(claim));
    store.runtime->run_for(500ms);
    store.server.answer(true);
    for (auto const& answer : answers) {
        store.run_until([&] { return answer->has_value(); });
        CHECK(is_renewed(**answer));
    }
    CHECK(store.server.executed[Kind::get] == 1);
}

TEST_CASE("a renewal fails at once when its connection ends, and works on the next", "[zookeeper][proofs]")
{
    Hundred held;
    held.runtime->run_for(3s);
    held.server.answer(false);
    auto const known = held.renew(held.claims[0]);
    held.runtime->run_for(1s);
    int reachable = 0;
    held.backend->on_reachable([&reachable] { ++reachable; });
    held.server.break_connections();
    held.runtime->run_ready();
    REQUIRE(known->has_value());
    CHECK(std::holds_alternative<Failure>(**known));
    CHECK(std::holds_alternative<Failure>(held.renewed(held.claims[0])));
    CHECK(reachable == 0);
    held.server.answer(true);
    held.run_until([&] { return reachable > 0; });
    CHECK(is_renewed(held.renewed(held.claims[0])));
}

TEST_CASE("a node that was lost is not watched any longer", "[zookeeper][proofs]")
{
    Hundred held;
    held.server.set(path(0), "evicted/somebody\n");
    CHECK(is_lost(held.renewed(held.claims[0])));
    held.runtime->run_ready();
    CHECK(held.server.executed[Kind::unwatch] == 1);
}
