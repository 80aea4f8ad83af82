// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/expect_failure.hpp"
#include "harness/renewals.hpp"
#include "scripted_nodes.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/open_store.hpp>
#include <tenure/stores/redlock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <boost/asio/io_context.hpp>

#include <optional>

namespace tenure::test
{

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace
{

std::shared_ptr<Claim> claim_of_lock()
{
    auto claim = std::make_shared<Claim>();
    claim->range = named_key("lock");
    claim->owner = "owner";
    claim->fencing_token = 42;
    return claim;
}

/** A renewal under way. */
struct Renewing {
    explicit Renewing(ScriptedQuorum& quorum)
    {
        RenewRequest request;
        request.claim = claim;
        request.ttl = 2s;
        request.not_after = quorum.runtime->now() + 1s;
        renew_one(*quorum.backend, std::move(request), [this](RenewReply given) { reply = std::move(given); });
    }

    template <class Answer>
    [[nodiscard]] bool is() const
    {
        return reply && std::holds_alternative<Answer>(*reply);
    }

    std::shared_ptr<Claim> claim = claim_of_lock();
    std::optional<RenewReply> reply;
};

} // namespace

TEST_CASE("a majority extends a lease by the shortest ttl, from the earliest of its requests on", "[redlock]")
{
    // whichever server it is
    auto const [first_since, first_ttl, second_since, second_ttl] = GENERATE(
        table<
            std::chrono::milliseconds, std::chrono::milliseconds, std::chrono::milliseconds, std::chrono::milliseconds>(
            {{1ms, 2000ms, 3ms, 1900ms}, {3ms, 1900ms, 1ms, 2000ms}}));
    ScriptedQuorum quorum;
    Renewing const renewing(quorum);
    auto const now = quorum.runtime->now();
    ScriptedNode::answer(quorum[1].renewals, Renewed{first_ttl, now - first_since});
    CHECK_FALSE(renewing.reply);
    ScriptedNode::answer(quorum[2].renewals, Renewed{second_ttl, now - second_since});
    REQUIRE(renewing.is<Renewed>());
    CHECK(std::get<Renewed>(*renewing.reply).since == now - 3ms);
    CHECK(std::get<Renewed>(*renewing.reply).ttl == 1900ms);
}

TEST_CASE("leases that are due together are one call to each server, and each is decided by itself", "[redlock]")
{
    ScriptedQuorum quorum;
    auto const limit = quorum.runtime->now() + 1s;
    auto const replies = renew_together(*quorum.backend, {{claim_of_lock(), 2s, limit}, {claim_of_lock(), 2s, limit}});
    for (std::size_t node = 0; node < 3; ++node) {
        CHECK(quorum[node].renew_calls == 1);
        REQUIRE(quorum[node].renewals.size() == 2);
    }
    Renewed const renewed{2s, quorum.runtime->now()};
    ScriptedNode::answer(quorum[0].renewals, renewed);
    ScriptedNode::answer(quorum[1].renewals, renewed);
    CHECK(std::holds_alternative<Renewed>(replies[0]->value()));
    CHECK_FALSE(replies[1]->has_value());
    ScriptedNode::answer(quorum[0].renewals, NotOwner{});
    ScriptedNode::answer(quorum[1].renewals, NotOwner{});
    CHECK(std::holds_alternative<NotOwner>(replies[1]->value()));
}

TEST_CASE("a lease is lost when no majority can have it any more, and not before", "[redlock]")
{
    ScriptedQuorum quorum;
    Renewing const renewing(quorum);
    ScriptedNode::answer(quorum[0].renewals, NotOwner{});
    CHECK_FALSE(renewing.reply);
    SECTION("proven")
    {
        ScriptedNode::answer(quorum[1].renewals, NotOwner{});
        CHECK(renewing.is<NotOwner>());
        // the claim is not proven to be this owner's, so it is not restored
        ScriptedNode::answer(quorum[2].renewals, Renewed{2s, quorum.runtime->now()});
        CHECK(quorum[0].claims.empty());
    }
    SECTION("not proven: an answer is missing")
    {
        ScriptedNode::answer(quorum[1].renewals, unreachable());
        ScriptedNode::answer(
            quorum[2].renewals, Failure::unknown(make_error_code(errc::store_unavailable), "the connection broke"));
        REQUIRE(renewing.reply);
        CHECK_THAT(
            expect_unknown(*renewing.reply).detail,
            ContainsSubstring("redis://a:6379/0: bears another owner; redis://b:6379/0: connection refused"));
    }
    SECTION("nothing was sent anywhere else")
    {
        ScriptedNode::answer(quorum[1].renewals, unreachable());
        ScriptedNode::answer(quorum[2].renewals, unreachable());
        REQUIRE(renewing.reply);
        CHECK(failed_as(*renewing.reply, Failure::Effect::refused));
    }
}

TEST_CASE("a server that lost a lease gets it back once a majority has proven it", "[redlock]")
{
    ScriptedQuorum quorum;
    Renewing const renewing(quorum);
    auto const now = quorum.runtime->now();
    ScriptedNode::answer(quorum[0].renewals, NotOwner{});
    ScriptedNode::answer(quorum[1].renewals, Renewed{2s, now});
    CHECK(quorum[0].claims.empty());
    SECTION("while it is held")
    {
        ScriptedNode::answer(quorum[2].renewals, Renewed{2s, now});
        REQUIRE(quorum[0].claims.size() == 1);
        CHECK(quorum[0].claims.front().first.owner == "owner");
        CHECK_FALSE(quorum[0].claims.front().first.fencing);
        SECTION("and if it was released meanwhile, it is given back")
        {
            renewing.claim->mark.ended = true;
            ScriptedNode::answer(quorum[0].claims, Granted{0, 0, 2s, now, nullptr});
            CHECK(quorum[0].releases.size() == 1);
        }
        SECTION("and it is kept")
        {
            ScriptedNode::answer(quorum[0].claims, Granted{0, 0, 2s, now, nullptr});
            CHECK(quorum[0].releases.empty());
            // with its token
            REQUIRE(quorum[0].tokens.size() == 1);
            CHECK(quorum[0].tokens.front().first.token == 42);
        }
    }
    SECTION("not after its release began")
    {
        renewing.claim->mark.ended = true;
        ScriptedNode::answer(quorum[2].renewals, Renewed{2s, now});
        CHECK(quorum[0].claims.empty());
    }
}

TEST_CASE("a release is done when a majority has done it, and was too late when none can have", "[redlock]")
{
    ScriptedQuorum quorum;
    ReleaseRequest request;
    request.claim = claim_of_lock();
    request.not_after = quorum.runtime->now() + 1s;
    std::optional<ReleaseReply> reply;
    quorum.backend->release(request, [&](ReleaseReply given) { reply = std::move(given); });
    SECTION("released, while one server is silent")
    {
        ScriptedNode::answer(quorum[0].releases, Released{});
        CHECK_FALSE(reply);
        ScriptedNode::answer(quorum[2].releases, Released{});
        REQUIRE(reply);
        CHECK(std::holds_alternative<Released>(*reply));
    }
    SECTION("lost before")
    {
        ScriptedNode::answer(quorum[0].releases, NotOwner{});
        ScriptedNode::answer(quorum[1].releases, NotOwner{});
        REQUIRE(reply);
        CHECK(std::holds_alternative<NotOwner>(*reply));
    }
}

TEST_CASE("a hint is passed on when a majority has told, or a moment after the first", "[redlock]")
{
    ScriptedQuorum quorum;
    std::vector<WatchEvent> events;
    auto const watch =
        quorum.backend->watch(named_key("lock"), WatchAs::waiter, [&](WatchEvent event) { events.push_back(event); });
    quorum[0].watch_handler(WatchEvent::in_force);
    CHECK(events.empty());
    quorum[1].watch_handler(WatchEvent::in_force);
    CHECK(events == std::vector{WatchEvent::in_force});
    events.clear();
    // a quorum keeps no line: the key may be free for any of its waiters
    auto const news = GENERATE(WatchEvent::hint, WatchEvent::our_turn, WatchEvent::others_turn);
    CHECK(quorum.backend->capabilities().frees_silently);
    CHECK_FALSE(quorum.backend->capabilities().keeps_line);
    quorum[0].watch_handler(news);
    CHECK(events.empty());
    SECTION("a majority")
    {
        quorum[2].watch_handler(news);
        CHECK(events == std::vector{WatchEvent::hint});
        quorum.runtime->run_for(100ms);
        CHECK(events.size() == 1);
    }
    SECTION("only one")
    {
        quorum.runtime->run_for(100ms);
        CHECK(events == std::vector{WatchEvent::hint});
    }
    SECTION("the subscriptions break")
    {
        quorum[1].watch_handler(WatchEvent::interrupted);
        CHECK(events == std::vector{WatchEvent::interrupted});
    }
}

TEST_CASE("a config of several servers is checked before anything is connected", "[redlock]")
{
    asio::io_context context;
    auto const open = [&](std::initializer_list<std::uint16_t> ports) {
        RedlockConfig config;
        for (auto const port : ports) {
            RedisConfig server;
            server.port = port;
            config.servers.push_back(server);
        }
        return open_store(context.get_executor(), config);
    };
    CHECK_THROWS_MATCHES(open({1, 2}), std::invalid_argument, MessageMatches(ContainsSubstring("an odd number")));
    CHECK_THROWS_MATCHES(open({1}), std::invalid_argument, MessageMatches(ContainsSubstring("an odd number")));
    CHECK_THROWS_MATCHES(
        open({1, 2, 1}), std::invalid_argument, MessageMatches(ContainsSubstring("different servers")));
    CHECK_THROWS_MATCHES(open({1, 2, 0}), std::invalid_argument, MessageMatches(ContainsSubstring("port")));
    CHECK_NOTHROW(open({1, 2, 3}));
    auto const store = open_store(context.get_executor(), "redlock://user:secret@a:1,b:2,c/5?connect_timeout=1s");
    CHECK(store.describe() == "redlock://a:1,b:2,c:6379");
    CHECK_THROWS_AS(open_store(context.get_executor(), "redlock://a:1,b:2"), std::invalid_argument);
}

} // namespace tenure::test
