// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/expect_failure.hpp"
#include "scripted_nodes.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <optional>

namespace tenure::test
{

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** A claim under way. */
struct Claiming {
    explicit Claiming(ScriptedQuorum& quorum, KeyRangePtr range = named_key("lock"), bool fencing = false)
    {
        request.range = std::move(range);
        request.owner = "owner";
        request.ttl = 2s;
        request.not_after = quorum.runtime->now() + 10s;
        request.fencing = fencing;
        quorum.backend->claim(request, [this](ClaimReply given) { reply = std::move(given); });
    }

    template <class Answer>
    [[nodiscard]] Answer const& as() const
    {
        REQUIRE(reply);
        REQUIRE(std::holds_alternative<Answer>(*reply));
        return std::get<Answer>(*reply);
    }

    [[nodiscard]] Failure refused() const
    {
        REQUIRE(reply);
        return expect_refused(*reply);
    }

    [[nodiscard]] Failure unknown() const
    {
        REQUIRE(reply);
        return expect_unknown(*reply);
    }

    ClaimRequest request;
    std::optional<ClaimReply> reply;
};

Granted granted(Instant since, std::uint64_t token = 0)
{
    return {0, token, 2s, since, nullptr};
}

std::vector<KeyState> states(std::initializer_list<char const*> owners)
{
    std::vector<KeyState> all;
    for (auto const* const owner : owners) {
        KeyState state;
        state.index = static_cast<std::uint32_t>(all.size());
        state.owner = owner;
        state.kind = state.owner.empty() ? KeyState::Kind::free : KeyState::Kind::held;
        if (state.kind == KeyState::Kind::held)
            state.remaining = 700ms;
        all.push_back(std::move(state));
    }
    return all;
}

/** Gives back the key that `Claiming` claims. */
void release(ScriptedQuorum& quorum)
{
    auto claim = std::make_shared<Claim>();
    claim->range = named_key("lock");
    claim->owner = "owner";
    ReleaseRequest request;
    request.claim = claim;
    request.not_after = quorum.runtime->now() + 2s;
    quorum.backend->release(request, [](ReleaseReply const&) {});
}

} // namespace

TEST_CASE("a lock is granted by a majority, and counts from the earliest of its requests", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum);
    auto const now = quorum.runtime->now();
    ScriptedNode::answer(quorum[0].claims, granted(now - 2ms));
    CHECK_FALSE(claiming.reply);
    ScriptedNode::answer(quorum[2].claims, granted(now - 5ms));
    CHECK(claiming.as<Granted>().since == now - 5ms);
    CHECK(claiming.as<Granted>().ttl == 2s);
    // the last one belongs to the lease: it is not given back
    ScriptedNode::answer(quorum[1].claims, granted(now));
    CHECK(quorum[1].releases.empty());
    CHECK(quorum.runtime->timers() == 0);
}

TEST_CASE("a majority has to accept the fencing token, which is greater than all that were seen", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum, named_key("lock"), true);
    auto const now = quorum.runtime->now();
    ScriptedNode::answer(quorum[0].claims, granted(now, 41));
    ScriptedNode::answer(quorum[1].claims, granted(now, 17));
    CHECK_FALSE(claiming.reply);
    REQUIRE(quorum[0].tokens.size() == 1);
    REQUIRE(quorum[2].tokens.empty());
    CHECK(quorum[0].tokens.front().first.token == 42);
    CHECK(quorum[0].tokens.front().first.owner == "owner");

    SECTION("accepted")
    {
        ScriptedNode::answer(quorum[0].tokens, redis::TokenAccepted{});
        CHECK_FALSE(claiming.reply);
        ScriptedNode::answer(quorum[1].tokens, redis::TokenAccepted{});
        CHECK(claiming.as<Granted>().fencing_token == 42);
        // a server that grants later learns the token
        ScriptedNode::answer(quorum[2].claims, granted(now, 12));
        REQUIRE(quorum[2].tokens.size() == 1);
        CHECK(quorum[2].tokens.front().first.token == 42);
    }
    SECTION("one of them has seen a greater one: a second round proposes more than that")
    {
        ScriptedNode::answer(quorum[0].tokens, redis::TokenAccepted{});
        ScriptedNode::answer(quorum[1].tokens, redis::TokenTooLow{99});
        CHECK_FALSE(claiming.reply);
        CHECK(ScriptedNode::answer(quorum[0].tokens, redis::TokenAccepted{}).token == 100);
        CHECK(ScriptedNode::answer(quorum[1].tokens, redis::TokenAccepted{}).token == 100);
        CHECK(claiming.as<Granted>().fencing_token == 100);
    }
    SECTION("the key was lost on one of them: there is no majority any more, and nothing stays held")
    {
        ScriptedNode::answer(quorum[2].claims, Busy{});
        ScriptedNode::answer(quorum[0].tokens, redis::TokenAccepted{});
        ScriptedNode::answer(quorum[1].tokens, NotOwner{});
        CHECK_FALSE(claiming.reply);
        ScriptedNode::answer(quorum[0].releases, Released{});
        ScriptedNode::answer(quorum[1].releases, NotOwner{});
        CHECK_THAT(claiming.refused().detail, ContainsSubstring("lost before the fencing token"));
    }
}

TEST_CASE("a lock that a majority holds for others is busy until enough of them let go", "[redlock]")
{
    ScriptedQuorum quorum(5);
    Claiming const claiming(quorum);
    for (std::size_t node = 0; node < 3; ++node)
        ScriptedNode::answer(quorum[node].claims, Busy{std::chrono::milliseconds(100 * (node + 1)), false});
    CHECK(claiming.as<Busy>().earliest_expiry == 300ms);
    CHECK_FALSE(claiming.as<Busy>().never_frees);
    // later grants of the other servers are given back
    ScriptedNode::answer(quorum[3].claims, granted(quorum.runtime->now()));
    REQUIRE(quorum[3].releases.size() == 1);
    CHECK(quorum[3].releases.front().first.claim->owner == "owner");
    ScriptedNode::answer(quorum[4].claims, Busy{});
    CHECK(quorum[4].releases.empty());

    // the next one looks first, and takes nothing from the minority that is free
    Claiming const next(quorum);
    CHECK(quorum[0].claims.empty());
    for (std::size_t node = 0; node < 5; ++node)
        ScriptedNode::answer(quorum[node].looks, states({node < 3 ? "x" : ""}));
    CHECK(next.as<Busy>().earliest_expiry == 700ms);
    CHECK(quorum[4].claims.empty());
    // but not for ever
    quorum.runtime->run_for(1min);
    Claiming const late(quorum);
    CHECK(quorum[0].claims.size() == 1);
}

TEST_CASE("where nobody has a majority all is given back, and nobody can tell when the lock frees", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum);
    ScriptedNode::answer(quorum[0].claims, granted(quorum.runtime->now()));
    ScriptedNode::answer(quorum[1].claims, Busy{900ms, false});
    ScriptedNode::answer(quorum[2].claims, Busy{900ms, false});
    REQUIRE(quorum[0].releases.size() == 1);
    CHECK_FALSE(claiming.reply);
    ScriptedNode::answer(quorum[0].releases, Released{});
    CHECK_FALSE(claiming.as<Busy>().earliest_expiry);
}

TEST_CASE(
    "without a majority that answers, the error has every server's words, and what was taken is given back",
    "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum);
    ScriptedNode::answer(quorum[0].claims, granted(quorum.runtime->now()));
    ScriptedNode::answer(quorum[1].claims, unreachable());
    SECTION("all answered: nothing is left")
    {
        ScriptedNode::answer(
            quorum[2].claims,
            Failure::refused(make_error_code(errc::store_refused), "redis://c:6379/0: lock: LOADING"));
        ScriptedNode::answer(quorum[0].releases, Released{});
        auto const& refused = claiming.refused();
        CHECK(refused.error == errc::store_refused);
        CHECK_FALSE(refused.fatal);
        CHECK(
            refused.detail ==
            "lock: no majority, 2 of 3 servers are needed; redis://a:6379/0: granted, and given back; "
            "redis://b:6379/0: connection refused; redis://c:6379/0: lock: LOADING");
    }
    SECTION("one is silent: it may have granted")
    {
        quorum.runtime->run_for(500ms);
        ScriptedNode::answer(quorum[0].releases, Released{});
        CHECK(claiming.unknown().error == errc::store_unavailable);
        CHECK_THAT(claiming.unknown().detail, ContainsSubstring("redis://c:6379/0: no answer in time"));
        ScriptedNode::answer(quorum[2].claims, granted(quorum.runtime->now()));
        CHECK(quorum[2].releases.size() == 1);
    }
    SECTION("neither the silent one nor the release is answered")
    {
        quorum.runtime->run_for(1s);
        CHECK(claiming.unknown().error == errc::store_unavailable);
    }
}

TEST_CASE("errors that only a person can fix are fatal where they leave no majority", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum);
    ScriptedNode::answer(quorum[2].claims, unreachable());
    for (std::size_t node = 0; node < 2; ++node)
        ScriptedNode::answer(
            quorum[node].claims, Failure::refused(make_error_code(errc::permission_denied), "NOPERM", true));
    CHECK(claiming.refused().fatal);
    CHECK(claiming.refused().error == errc::permission_denied);
}

TEST_CASE("of a pool the first key is taken that a majority has free", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum, numbered_keys("slot:", 3));
    REQUIRE(quorum[0].claims.empty());
    // slot 0 is held by a majority, slot 1 by a leftover on one server
    ScriptedNode::answer(quorum[0].looks, states({"x", "old", ""}));
    ScriptedNode::answer(quorum[1].looks, states({"x", "", ""}));
    ScriptedNode::answer(quorum[2].looks, states({"", "", ""}));
    for (auto const& node : quorum.nodes) {
        REQUIRE(node->claims.size() == 1);
        CHECK(node->claims.front().first.range->key(0) == "slot:1");
        CHECK(node->claims.front().first.range->count == 1);
    }
    ScriptedNode::answer(quorum[0].claims, Busy{});
    ScriptedNode::answer(quorum[1].claims, granted(quorum.runtime->now()));
    ScriptedNode::answer(quorum[2].claims, granted(quorum.runtime->now()));
    quorum.runtime->run_for(50ms);
    CHECK(claiming.as<Granted>().index == 1);
}

TEST_CASE("the winner of a split vote also takes the rest, once the losers have given it back", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum);
    auto const now = quorum.runtime->now();
    ScriptedNode::answer(quorum[0].claims, Busy{});
    ScriptedNode::answer(quorum[1].claims, granted(now));
    ScriptedNode::answer(quorum[2].claims, granted(now));
    CHECK_FALSE(claiming.reply);
    quorum.runtime->run_for(2ms);
    REQUIRE(quorum[0].claims.size() == 1);
    CHECK(quorum[0].claims.front().first.owner == "owner");
    CHECK(quorum[1].claims.empty());
    CHECK_FALSE(claiming.reply);
    SECTION("still held there: it is asked again, a few times, and not waited for")
    {
        ScriptedNode::answer(quorum[0].claims, Busy{});
        quorum.runtime->run_for(48ms);
        (void)claiming.as<Granted>();
        quorum.runtime->run_for(1min);
        CHECK(quorum[0].claims.size() == 7);
    }
    SECTION("had there: that is what the grant waits for")
    {
        ScriptedNode::answer(quorum[0].claims, granted(now + 2ms));
        CHECK(claiming.as<Granted>().since == now);
        quorum.runtime->run_for(1min);
        CHECK(quorum[0].claims.empty());
    }
    SECTION("not after the release")
    {
        release(quorum);
        CHECK(quorum[0].releases.size() == 1);
        ScriptedNode::answer(quorum[0].claims, granted(now));
        CHECK(quorum[0].releases.size() == 2);
        quorum.runtime->run_for(1min);
        CHECK(quorum[0].claims.empty());
    }
}

TEST_CASE("a node that tells of another holder when the lease is handed out already is asked again too", "[redlock]")
{
    ScriptedQuorum quorum(5);
    Claiming const claiming(quorum);
    auto const now = quorum.runtime->now();
    for (std::size_t const node : {0U, 1U, 2U})
        ScriptedNode::answer(quorum[node].claims, granted(now));
    (void)claiming.as<Granted>();
    SECTION("each of them, and no other")
    {
        ScriptedNode::answer(quorum[3].claims, Busy{});
        quorum.runtime->run_for(2ms);
        REQUIRE(quorum[3].claims.size() == 1);
        CHECK(quorum[3].claims.front().first.owner == "owner");
        ScriptedNode::answer(quorum[4].claims, Busy{});
        quorum.runtime->run_for(6ms);
        CHECK(quorum[4].claims.size() >= 1);
        while (!quorum[4].claims.empty())
            ScriptedNode::answer(quorum[4].claims, granted(now));
        while (!quorum[3].claims.empty())
            ScriptedNode::answer(quorum[3].claims, granted(now));
        quorum.runtime->run_for(1min);
        CHECK(quorum[3].claims.empty());
        CHECK(quorum[4].claims.empty());
        CHECK(quorum[0].claims.empty());
    }
    SECTION("not after the release")
    {
        release(quorum);
        ScriptedNode::answer(quorum[3].claims, Busy{});
        quorum.runtime->run_for(1min);
        CHECK(quorum[3].claims.empty());
    }
    SECTION("no more after the release")
    {
        ScriptedNode::answer(quorum[3].claims, Busy{});
        quorum.runtime->run_for(2ms);
        release(quorum);
        auto const given_back = quorum[3].releases.size();
        ScriptedNode::answer(quorum[3].claims, granted(now));
        CHECK(quorum[3].releases.size() == given_back + 1);
        quorum.runtime->run_for(1min);
        CHECK(quorum[3].claims.empty());
    }
    SECTION("not once the store is closed")
    {
        quorum.backend->shutdown();
        ScriptedNode::answer(quorum[3].claims, Busy{});
        quorum.runtime->run_for(1min);
        CHECK(quorum[3].claims.empty());
        CHECK(quorum.runtime->timers() == 0);
    }
}

TEST_CASE("a store that is closed waits for no time to pass", "[redlock]")
{
    ScriptedQuorum quorum;
    auto const now = quorum.runtime->now();
    SECTION("the rest of what a claim was granted is not asked for any more")
    {
        Claiming const claiming(quorum);
        ScriptedNode::answer(quorum[0].claims, Busy{});
        ScriptedNode::answer(quorum[1].claims, granted(now));
        ScriptedNode::answer(quorum[2].claims, granted(now));
        // until the rest is asked for, and until the grant waits no longer
        REQUIRE(quorum.runtime->timers() == 2);
        SECTION("nor waited for")
        {
            quorum.backend->shutdown();
            CHECK_FALSE(claiming.reply);
            quorum.runtime->run_ready();
            (void)claiming.as<Granted>();
            CHECK(quorum.runtime->timers() == 0);
        }
        SECTION("nor asked for again")
        {
            quorum.runtime->run_for(2ms);
            REQUIRE(quorum[0].claims.size() == 1);
            quorum.backend->shutdown();
            ScriptedNode::answer(quorum[0].claims, Busy{});
            quorum.runtime->run_ready();
            (void)claiming.as<Granted>();
            CHECK(quorum.runtime->timers() == 0);
        }
    }
    SECTION("a claim that waits for others to decide is answered")
    {
        Claiming const first(quorum, numbered_keys("slot:", 1));
        auto request = first.request;
        request.range = numbered_keys("slot:", 2);
        request.owner = "another owner";
        std::optional<ClaimReply> second;
        quorum.backend->claim(request, [&](ClaimReply given) { second = std::move(given); });
        for (auto const& node : quorum.nodes)
            ScriptedNode::answer(node->looks, states({"", "x"}));
        REQUIRE_FALSE(second);
        REQUIRE(quorum.runtime->timers() == 2);
        quorum.backend->shutdown();
        CHECK_FALSE(second);
        quorum.runtime->run_ready();
        REQUIRE(second);
        CHECK(std::holds_alternative<Busy>(*second));
        CHECK(quorum.runtime->timers() == 1); // of the first, whose nodes have to answer
        for (auto const& node : quorum.nodes)
            ScriptedNode::answer(node->claims, unreachable());
        CHECK(first.reply);
        CHECK(quorum.runtime->timers() == 0);
    }
}

TEST_CASE("timers that never ring own no claim and no look", "[redlock]")
{
    auto quorum = std::make_unique<ScriptedQuorum>();
    auto const owned = std::make_shared<int>();
    ClaimRequest request;
    request.range = named_key("lock");
    request.owner = "owner";
    request.ttl = 2s;
    request.not_after = quorum->runtime->now() + 10s;
    request.fencing = false;
    auto const claim = [&] { quorum->backend->claim(request, [owned](ClaimReply const&) {}); };
    SECTION("while it votes")
    {
        claim();
    }
    SECTION("while it looks")
    {
        request.range = numbered_keys("slot:", 3);
        claim();
    }
    SECTION("while it waits for others to decide")
    {
        auto first = request;
        first.owner = "the first";
        quorum->backend->claim(first, [](ClaimReply const&) {});
        request.earliest_attempt = quorum->runtime->now();
        claim();
        for (auto const& node : quorum->nodes)
            ScriptedNode::answer(node->looks, states({""}));
    }
    SECTION("while another process looks in")
    {
        quorum->backend->inspect({request.range, quorum->runtime->now() + 1s}, [owned](InspectReply const&) {});
    }
    REQUIRE(quorum->runtime->timers() > 0);
    REQUIRE(owned.use_count() > 1);
    // the context is destroyed: no handler is called
    quorum->backend->shutdown();
    for (auto const& node : quorum->nodes)
        node->forget();
    quorum->runtime->end_context();
    quorum->backend.reset();
    CHECK(owned.use_count() == 1);
}

TEST_CASE("two claims of one process do not race for the same key", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const first(quorum, numbered_keys("slot:", 3));
    Claiming const second(quorum, numbered_keys("slot:", 3));
    auto const expected = first.request.owner;
    for (auto const& node : quorum.nodes)
        while (!node->looks.empty())
            ScriptedNode::answer(node->looks, states({"", "", ""}));
    std::vector<std::string> keys;
    for (auto const& [request, handler] : quorum[0].claims)
        keys.push_back(request.range->key(0));
    CHECK(keys == std::vector<std::string>{"slot:0"});
    // the same owner again: it joined the first
    CHECK(quorum[0].claims.size() == 1);

    auto other = second.request;
    other.owner = "another owner";
    quorum.backend->claim(other, [](ClaimReply const&) {});
    for (auto const& node : quorum.nodes)
        ScriptedNode::answer(node->looks, states({"", "", ""}));
    CHECK(quorum[0].claims.back().first.range->key(0) == "slot:1");
}

TEST_CASE("a pool of which nothing is free on a majority tells when the first key can be had", "[redlock]")
{
    ScriptedQuorum quorum;
    Claiming const claiming(quorum, numbered_keys("slot:", 2));
    for (auto const& node : quorum.nodes)
        ScriptedNode::answer(node->looks, states({"x", "y"}));
    CHECK(claiming.as<Busy>().earliest_expiry == 700ms);
    CHECK(quorum[0].claims.empty());
}

TEST_CASE("another program's keys are waited for if they expire on enough servers", "[redlock]")
{
    ScriptedQuorum quorum(3);
    std::vector<KeyState> endless(2);
    endless[1].index = 1;
    for (auto& key : endless)
        key.kind = KeyState::Kind::foreign;
    auto expiring = endless;
    expiring[1].remaining = 300ms;
    auto const range = numbered_keys("slot:", 2);
    {
        Claiming const claiming(quorum, range);
        ScriptedNode::answer(quorum[0].looks, expiring);
        ScriptedNode::answer(quorum[1].looks, endless);
        ScriptedNode::answer(quorum[2].looks, expiring);
        CHECK(claiming.as<Busy>().earliest_expiry == 300ms);
        CHECK_FALSE(claiming.as<Busy>().never_frees);
    }
    Claiming const claiming(quorum, range);
    ScriptedNode::answer(quorum[0].looks, expiring);
    ScriptedNode::answer(quorum[1].looks, endless);
    ScriptedNode::answer(quorum[2].looks, endless);
    CHECK_FALSE(claiming.as<Busy>().earliest_expiry);
    CHECK(claiming.as<Busy>().never_frees);
}

TEST_CASE("another program's key shows when a majority of the servers will be free of it", "[redlock]")
{
    ScriptedQuorum quorum(5);
    std::optional<InspectReply> reply;
    quorum.backend->inspect(
        {named_key("lock"), quorum.runtime->now() + 10s}, [&reply](InspectReply given) { reply = std::move(given); });
    std::optional<std::chrono::milliseconds> const left[] = {900ms, 300ms, std::nullopt, 500ms};
    for (std::size_t node = 0; node < 4; ++node) {
        std::vector<KeyState> seen(1);
        seen[0].kind = KeyState::Kind::foreign;
        seen[0].remaining = left[node];
        ScriptedNode::answer(quorum[node].looks, seen);
    }
    ScriptedNode::answer(quorum[4].looks, states({""}));
    REQUIRE(reply);
    auto const key = std::get<std::vector<KeyState>>(*reply).at(0);
    CHECK(key.kind == KeyState::Kind::foreign);
    // two of the four have to go: then three of five are free
    CHECK(key.remaining == 500ms);
}

TEST_CASE("a claim whose time was over before it was asked asks nobody", "[redlock]")
{
    ScriptedQuorum quorum;
    ClaimRequest request;
    request.range = named_key("lock");
    request.owner = "owner";
    request.ttl = 2s;
    request.not_after = quorum.runtime->now();
    std::optional<ClaimReply> reply;
    quorum.backend->claim(request, [&](ClaimReply given) { reply = std::move(given); });
    CHECK_FALSE(reply);
    quorum.runtime->run_ready();
    REQUIRE(reply);
    CHECK(failed_as(*reply, Failure::Effect::not_sent));
    CHECK(quorum[0].claims.empty());
}

} // namespace tenure::test
