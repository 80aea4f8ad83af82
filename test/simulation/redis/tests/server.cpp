// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Events that no real server produces on demand: transactions that are cut or refused, failovers, and the reports to
// the checker.
#include "simulated_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <charconv>
#include <string>

using namespace tenure::simulation;

namespace
{

std::vector<std::string> take(std::string const& key, std::string const& owner)
{
    return {"SET", key, owner, "NX", "PX", "4000"};
}
std::vector<std::string> draw()
{
    return {"EVAL", std::string(draw_text) + "return draw(KEYS[1])", "1", "tenure:fence"};
}

/** The replies before the last words. */
std::string replies(SimulatedClient& client, Commands const& commands)
{
    auto all = client.exchange(commands);
    auto const end = answer_to_last_words();
    REQUIRE(all.ends_with(end));
    all.resize(all.size() - end.size());
    return all;
}

std::uint64_t token_in(std::string const& reply)
{
    auto const at = reply.rfind("$16\r\n");
    REQUIRE(at != std::string::npos);
    std::uint64_t token = 0;
    std::from_chars(reply.data() + at + 5, reply.data() + at + 21, token);
    return token;
}

std::string against(QuietWorld& world, std::string_view owner, std::uint64_t token)
{
    std::array<std::uint64_t, 0> const none{};
    return world.world.store.wrong_token(0, owner_id(owner), token, none);
}

bool holds(QuietWorld& world, std::string_view owner)
{
    return world.world.store.key(0).owner == owner_id(owner);
}

} // namespace

TEST_CASE("a transaction whose connection breaks before EXEC does nothing")
{
    QuietWorld world;
    SimulatedClient client(world);
    world.strike(FaultKind::transaction_cut);
    (void)client.exchange({{"MULTI"}, take("job", "one"), draw(), {"EXEC"}});
    CHECK(client.broken());
    CHECK(world.world.store.key(0).owner == 0);
    SimulatedClient other(world);
    CHECK(replies(other, {{"EXISTS", "job", "tenure:fence"}, {"EXEC"}}) == ":0\r\n-ERR EXEC without MULTI\r\n");
    // once
    (void)replies(other, {{"MULTI"}, take("job", "one"), draw(), {"EXEC"}});
    CHECK(holds(world, "one"));
    CHECK_FALSE(world.world.checker.violated());
}

TEST_CASE("a transaction that is refused does nothing, and says why")
{
    QuietWorld world;
    // each time for a reason of its own
    for (int times = 0; times < 20; ++times) {
        SimulatedClient client(world);
        world.world.store.refuse(true);
        auto const refused = client.exchange({{"MULTI"}, take("job", "one"), {"EXEC"}});
        CHECK(refused.find("-EXECABORT Transaction discarded because of previous errors.\r\n") != std::string::npos);
        world.world.store.refuse(false);
        // the refusal begins while commands are queued, the last words among them
        CHECK(client.exchange({{"MULTI"}, take("job", "one")}) == "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
        world.world.store.refuse(true);
        CHECK(client.exchange({{"EXEC"}}).starts_with("-EXECABORT Transaction discarded because of: "));
        world.world.store.refuse(false);
        CHECK(replies(client, {{"EXEC"}}) == "-ERR EXEC without MULTI\r\n");
        CHECK(world.world.store.key(0).owner == 0);
    }
    CHECK_FALSE(world.world.checker.violated());
}

TEST_CASE("the token that a transaction draws belongs to the granted key")
{
    QuietWorld world;
    SimulatedClient client(world);
    auto const token = token_in(replies(client, {{"MULTI"}, take("job", "one"), draw(), {"EXEC"}}));
    CHECK(holds(world, "one"));
    CHECK(against(world, "one", token).empty());
    CHECK_FALSE(against(world, "one", token - 1).empty());
    CHECK_FALSE(against(world, "two", token).empty());
    CHECK_FALSE(against(world, "one", 0).empty());
}

TEST_CASE("a draw before the step of the grant is found, and one after a failed draw is good")
{
    QuietWorld world;
    SimulatedClient client(world);
    auto const early = token_in(replies(client, {draw()}));
    (void)replies(client, {{"MULTI"}, take("job", "one"), {"EVALSHA", std::string(40, '0'), "0"}, {"EXEC"}});
    CHECK(holds(world, "one"));
    CHECK_FALSE(against(world, "one", early).empty());
    auto const late = token_in(replies(client, {draw()}));
    CHECK(against(world, "one", late).empty());
}

TEST_CASE("an overwritten counter refuses draws for a while, and is lost then")
{
    QuietWorld world;
    SimulatedClient client(world);
    auto const before = token_in(replies(client, {draw()}));
    for (bool const by_list : {false, true}) {
        world.world.store.spoil_counter(by_list, second);
        auto const reply = replies(client, {{"INCR", "tenure:fence"}});
        CHECK(reply.starts_with(by_list ? "-WRONGTYPE" : "-ERR value is not an integer"));
        (void)replies(client, {{"PEXPIRE", "tenure:fence", "0"}});
    }
    CHECK(token_in(replies(client, {draw()})) > before);
}

TEST_CASE("an old master that is promoted again has its own counter and keys")
{
    QuietWorld world;
    auto& server = world.server();
    server.begin(world.world.plan().settings, {}, 2);
    {
        SimulatedClient client(world);
        (void)replies(client, {{"MULTI"}, take("job", "one"), draw(), {"EXEC"}, {"RPUSH", "{job}:waiting", "a"}});
    }
    server.remember(1);
    // the other one has seen nothing of it
    server.go_back_to(0, 0);
    {
        SimulatedClient client(world);
        CHECK(replies(client, {{"EXISTS", "job", "tenure:fence", "{job}:waiting"}}) == ":0\r\n");
        auto const token = token_in(replies(client, {{"MULTI"}, take("job", "two"), draw(), {"EXEC"}}));
        CHECK(against(world, "two", token).empty());
    }
    server.go_back_to(1, 0);
    CHECK(holds(world, "one"));
    SimulatedClient client(world);
    CHECK(
        replies(client, {{"GET", "job"}, {"LRANGE", "{job}:waiting", "0", "-1"}}) == "$3\r\none\r\n*1\r\n$1\r\na\r\n");
}

TEST_CASE("lines of waiters are lost, or are words for a while")
{
    QuietWorld world;
    SimulatedClient client(world);
    (void)replies(client, {{"RPUSH", "{job}:waiting", "a"}, {"RPUSH", "{slot:}:waiting", "a"}});
    world.world.store.lose_lines(0);
    CHECK(replies(client, {{"EXISTS", "{job}:waiting", "{slot:}:waiting"}}) == ":0\r\n");
    world.world.store.lose_lines(second);
    CHECK(replies(client, {{"RPUSH", "{job}:waiting", "a"}}).starts_with("-WRONGTYPE"));
}
