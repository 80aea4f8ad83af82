// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/replies.hpp"
#include "store/redis/scripts/release_replies.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::redis;
using resp::Value;

namespace
{

Value array(std::vector<Value> elements)
{
    return Value::list(resp::Type::array, std::move(elements));
}

} // namespace

TEST_CASE("a grant is read with its index and token", "[redis][replies]")
{
    auto const reply = read_page_reply(array({Value::integer(7), Value::text("1700000000000000")}), 8, true);
    REQUIRE(reply);
    CHECK(std::get<PageGrant>(*reply).index == 7);
    CHECK(std::get<PageGrant>(*reply).token == 1700000000000000U);
    auto const unfenced = read_page_reply(array({Value::integer(0), Value::text("")}), 1, false);
    REQUIRE(unfenced);
    CHECK(std::get<PageGrant>(*unfenced).token == 0);
}

TEST_CASE("a busy answer is read with and without its survey", "[redis][replies]")
{
    auto const plain = read_page_reply(array({Value::integer(-1)}), 8, true);
    REQUIRE(plain);
    CHECK_FALSE(std::get<PageHeld>(*plain).foreign);
    auto const full = read_page_reply(array({Value::integer(-1), Value::integer(250), Value::integer(3)}), 8, true);
    REQUIRE(full);
    CHECK(std::get<PageHeld>(*full).earliest_expiry == std::chrono::milliseconds(250));
    CHECK(std::get<PageHeld>(*full).foreign == 3U);
    auto const none = read_page_reply(array({Value::integer(-1), Value::integer(-1), Value::integer(8)}), 8, true);
    REQUIRE(none);
    CHECK_FALSE(std::get<PageHeld>(*none).earliest_expiry);
}

TEST_CASE("a busy answer carries why there is no place in the line", "[redis][replies]")
{
    auto const plain = read_page_reply(array({Value::integer(-1), Value::text("NOPERM no")}), 8, true);
    REQUIRE(plain);
    CHECK(std::get<PageHeld>(*plain).line_error == "NOPERM no");
    CHECK_FALSE(std::get<PageHeld>(*plain).foreign);
    auto const surveyed = read_page_reply(
        array({Value::integer(-1), Value::integer(250), Value::integer(3), Value::text("OOM no")}), 8, true);
    REQUIRE(surveyed);
    CHECK(std::get<PageHeld>(*surveyed).line_error == "OOM no");
    CHECK(std::get<PageHeld>(*surveyed).foreign == 3U);
}

TEST_CASE("the keys of several owners are read with their token", "[redis][replies]")
{
    auto const reply = read_shared_page_reply(
        array({Value::text("17"), Value::integer(2), Value::integer(7), Value::integer(-1)}), 8, 3, true);
    REQUIRE(reply);
    auto const& page = std::get<SharedPage>(*reply);
    CHECK(page.token == 17);
    CHECK(page.granted == std::vector<std::uint32_t>{2, 7});
    CHECK(page.held);
    auto const all = read_shared_page_reply(array({Value::text(""), Value::integer(0)}), 8, 1, false);
    REQUIRE(all);
    CHECK_FALSE(std::get<SharedPage>(*all).held);
    auto const none = read_shared_page_reply(
        array({Value::text(""), Value::integer(-1), Value::integer(5), Value::integer(0), Value::text("OOM no")}), 8, 2,
        true);
    REQUIRE(none);
    CHECK(std::get<SharedPage>(*none).granted.empty());
    CHECK(std::get<SharedPage>(*none).held->line_error == "OOM no");
    auto const closed = read_shared_page_reply(array({Value::integer(-2), Value::integer(900)}), 8, 2, true);
    REQUIRE(closed);
    CHECK(std::get<PageClosed>(*closed).opens_in == std::chrono::milliseconds(900));
}

TEST_CASE("an answer to several owners that makes no sense is not believed", "[redis][replies]")
{
    auto const token = Value::text("17");
    auto const bad = GENERATE_COPY(
        Value(), array({}), Value::text("17"), array({token}), array({token, Value::integer(1)}),
        // too many, out of range, not rising
        array({token, Value::integer(0), Value::integer(1), Value::integer(2)}),
        array({token, Value::integer(0), Value::integer(8)}), array({token, Value::integer(1), Value::integer(1)}),
        array({token, Value::integer(1), Value::integer(0)}), array({token, Value::integer(0), Value::integer(-2)}),
        // both granted, and yet held
        array({token, Value::integer(0), Value::integer(1), Value::integer(-1)}),
        // the token
        array({Value::text(""), Value::integer(0), Value::integer(1)}),
        array({Value::text("x"), Value::integer(0), Value::integer(1)}),
        array({Value::integer(17), Value::integer(0), Value::integer(1)}), array({token, Value::integer(-1)}),
        // the fields of held keys
        array({token, Value::integer(0), Value::integer(-1), Value::integer(5)}),
        array({token, Value::integer(0), Value::integer(-1), Value::integer(5), Value::integer(9)}),
        array({token, Value::integer(0), Value::integer(-1), Value::text("")}),
        array({token, Value::integer(0), Value::integer(-1), Value::text("a"), Value::text("b")}),
        array({Value::integer(-2), Value::integer(0)}));
    CHECK_FALSE(read_shared_page_reply(bad, 8, 2, true));
}

TEST_CASE("an answer to a claim that makes no sense is not believed", "[redis][replies]")
{
    auto const bad = GENERATE(
        Value(), Value::integer(0), Value::status("OK"), array({}), array({Value::text("0"), Value::text("1")}),
        array({Value::integer(8), Value::text("1")}), array({Value::integer(-2)}), array({Value::integer(0)}),
        array({Value::integer(0), Value::text("")}), array({Value::integer(0), Value::text("0")}),
        array({Value::integer(0), Value::text("-5")}), array({Value::integer(0), Value::text("5x")}),
        array({Value::integer(0), Value::text("99999999999999999999999")}),
        array({Value::integer(0), Value::integer(5)}), array({Value::integer(0), Value::text("5"), Value::text("5")}),
        array({Value::integer(-1), Value::integer(1)}),
        array({Value::integer(-1), Value::integer(-2), Value::integer(0)}),
        array({Value::integer(-1), Value::integer(1), Value::integer(9)}),
        array({Value::integer(-1), Value::integer(1), Value::integer(-1)}),
        array({Value::integer(-1), Value::text("")}), array({Value::integer(-1), Value::text("a"), Value::text("b")}),
        array({Value::integer(-1), Value::integer(1), Value::integer(0), Value::integer(0)}));
    CHECK_FALSE(read_page_reply(bad, 8, true));
}

TEST_CASE("flags are read one for each key", "[redis][replies]")
{
    auto const reply = Value::text("101");
    auto const flags = read_renewed_flags(reply, 3);
    REQUIRE(flags);
    CHECK(flags == "101");
    for (auto const* const bad : {"1", "1011", "12", "10!", ""})
        CHECK_FALSE(read_renewed_flags(Value::text(bad), 2));
    CHECK_FALSE(read_renewed_flags(Value::integer(10), 2));
    CHECK_FALSE(read_renewed_flags(Value(), 0));
}

TEST_CASE("the answer to releases has a character for each key, and notes", "[redis][replies]")
{
    auto const quiet = Value::text("101");
    auto const flags = read_release_flags(quiet, 3, 2);
    REQUIRE(flags);
    CHECK(flags->keys == "101");
    CHECK(flags->notes.publish_refusal.empty());
    CHECK(flags->notes.line_refusal.empty());
    CHECK(flags->notes.message(1).empty());
    auto const noted = Value::text("1\n!NOPERM not there\n?NOPERM no such luck!");
    auto const with_notes = read_release_flags(noted, 1, 1);
    REQUIRE(with_notes);
    CHECK(with_notes->notes.publish_refusal == "NOPERM not there");
    CHECK(with_notes->notes.line_refusal == "NOPERM no such luck!");
    for (auto const* const bad : {"1", "101", "12", "10!", "10\n", "10\n?", "10\n!\n?x", "10\nx", "10x", ""})
        CHECK_FALSE(read_release_flags(Value::text(bad), 2, 1));
    CHECK_FALSE(read_release_flags(Value::integer(10), 2, 1));
}

TEST_CASE("the answer to releases has the message of each range", "[redis][replies]")
{
    auto const list = [](std::vector<Value> parts) { return Value::list(redis::resp::Type::array, std::move(parts)); };
    auto const reply = list({Value::text("11"), Value::text("1"), Value::text("")});
    auto const flags = read_release_flags(reply, 2, 2);
    REQUIRE(flags);
    CHECK(flags->notes.message(0) == "1");
    CHECK(flags->notes.message(1).empty());
    auto const without = list({Value::text("11")});
    REQUIRE(read_release_flags(without, 2, 2));
    for (auto const& bad :
         {list({}), list({Value::text("11"), Value::text("1")}), list({Value::text("11"), Value::integer(1), Value()}),
          list({Value::text("1"), Value::text("1"), Value::text("1")})})
        CHECK_FALSE(read_release_flags(bad, 2, 2));

    std::string const one(32, 'a');
    std::string const two(32, 'b');
    CHECK(name_in(one + " " + two, 0) == one);
    CHECK(name_in(one + " " + two, 1) == two);
    CHECK(name_in(one + " " + two, 2).empty());
    CHECK(name_in("1", 0).empty());
    CHECK(names_another(one + " " + two, one));
    CHECK_FALSE(names_another(one, one));
    CHECK_FALSE(names_another("1", one));
}

TEST_CASE("the answer to a withdrawal is a number, and notes", "[redis][replies]")
{
    CHECK(read_withdrawn_keys(Value::text("0"))->count == 0);
    CHECK(read_withdrawn_keys(Value::text("12\n!NOPERM"))->count == 12);
    auto const refused = Value::text("3\n?NOPERM no");
    CHECK(read_withdrawn_keys(refused)->notes.line_refusal == "NOPERM no");
    for (auto const* const bad : {"", "!", "-1", "x", "1x", "1?", "1\n?", "99999999999"})
        CHECK_FALSE(read_withdrawn_keys(Value::text(bad)));
    CHECK_FALSE(read_withdrawn_keys(Value::integer(1)));
    auto const with_message = array({Value::text("5"), Value::text("message")});
    CHECK(read_withdrawn_keys(with_message)->count == 5);
    CHECK(read_withdrawn_keys(with_message)->notes.messages.size() == 1);
}

TEST_CASE("an inspection that makes no sense is not believed and appends nothing", "[redis][replies]")
{
    auto const bad = GENERATE(
        Value(), array({}), array({Value::text("x")}), array({Value::text("5"), Value::integer(0)}),
        array({Value::text("5"), Value::integer(4), Value::text("o"), Value::integer(5), Value()}),
        array({Value::text("5"), Value::integer(-1), Value::text("o"), Value::integer(5), Value()}),
        array({Value::text("5"), Value::text("0"), Value::text("o"), Value::integer(5), Value()}),
        array({Value::text("5"), Value::integer(0), Value::text("o"), Value::integer(-2), Value()}));
    std::vector<KeyState> states;
    CHECK_FALSE(read_key_states(bad, 4, states));
    CHECK(states.empty());
}

TEST_CASE("how long a key is held is told by its owner, and by none that tenure did not write", "[redis][replies]")
{
    constexpr std::int64_t claimed_at = 1'700'000'000;
    auto const owner = "host:1/" + std::to_string(claimed_at) + "/0123456789abcdef0123456789abcdef";
    auto const held_for = [](std::string const& value, std::int64_t now_us) {
        std::vector<KeyState> states;
        REQUIRE(read_key_states(
            array(
                {Value::text(std::to_string(now_us)), Value::integer(0), Value::text(value), Value::integer(5),
                 Value()}),
            1, states));
        CHECK(states.at(0).fencing_token == 0);
        return states.at(0).held_for;
    };
    using std::chrono::milliseconds;
    CHECK(held_for(owner, claimed_at * 1'000'000 + 2'500'000) == milliseconds(2500));
    // the holder's clock is ahead
    CHECK(held_for(owner, claimed_at * 1'000'000 - 2'500'000) == milliseconds(0));
    CHECK_FALSE(held_for("host:1/0123456789abcdef0123456789abcdef", claimed_at * 1'000'000));
    CHECK_FALSE(held_for("python", claimed_at * 1'000'000));
    CHECK_FALSE(held_for("evicted/me", claimed_at * 1'000'000));
    CHECK_FALSE(held_for("resting/" + owner, claimed_at * 1'000'000));
}

TEST_CASE("error replies are understood, of commands and of scripts of Redis 6 and 7", "[redis][replies]")
{
    struct Case {
        std::string text;
        errc error;
        bool fatal;
        bool reconnect;
    };
    auto const [text, error, fatal, reconnect] = GENERATE(values<Case>({
        {"NOPERM this user has no permissions to run the 'get' command", errc::permission_denied, true, false},
        {"ERR The user executing the script can't run this command or subcommand script: 71, on @user_script:1.",
         errc::permission_denied, true, false},
        {"@user_script: 4: The user executing the script can't run this command or subcommand", errc::permission_denied,
         true, false},
        {"ERR Error running script (call to f_1a): @user_script:1: @user_script: 1: The user executing the script "
         "can't "
         "run this command or subcommand ",
         errc::permission_denied, true, false},
        {"NOAUTH Authentication required.", errc::authentication_failed, true, false},
        {"WRONGPASS invalid username-password pair or user is disabled.", errc::authentication_failed, true, false},
        {"MOVED 3999 127.0.0.1:6381", errc::wrong_server, true, false},
        {"CROSSSLOT Keys in request don't hash to the same slot", errc::wrong_server, true, false},
        {"READONLY You can't write against a read only replica. script: 62, on @user_script:1.", errc::store_refused,
         false, true},
        {"ERR Error running script (call to f_1a): @user_script:3: @user_script: 3: -READONLY You can't write against "
         "a "
         "read only replica. ",
         errc::store_refused, false, true},
        {"LOADING Redis is loading the dataset in memory", errc::store_refused, false, true},
        {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", errc::store_refused, false,
         true},
        {"BUSY Redis is busy running a script.", errc::store_refused, false, false},
        {"MISCONF Redis is configured to save RDB snapshots", errc::store_refused, false, false},
        {"OOM command not allowed when used memory > 'maxmemory'.", errc::store_refused, false, false},
        {"NOREPLICAS Not enough good replicas to write.", errc::store_refused, false, false},
        {"TRYAGAIN Multiple keys request during rehashing of slot", errc::store_refused, false, false},
        {"CLUSTERDOWN The cluster is down", errc::store_refused, false, false},
        {"ERR max number of clients reached", errc::store_refused, false, false},
        {"WRONGTYPE Operation against a key holding the wrong kind of value script: 62, on @user_script:1.",
         errc::key_conflict, true, false},
        {"ERR Error running script (call to f_1a): @user_script:7: WRONGTYPE Operation against a key",
         errc::key_conflict, true, false},
        {"ERR value is not an integer or out of range script: da, on @user_script:1.", errc::key_conflict, true, false},
        {"ERR unknown command `EVALSHA`, with args beginning with: ", errc::wrong_server, true, false},
        {"", errc::store_refused, false, false},
        {"ERR Error running script", errc::store_refused, false, false},
        {"ERR Error running script @user_script:", errc::store_refused, false, false},
    }));
    CAPTURE(text);
    auto const understood = classify(text);
    CHECK(understood.error == error);
    CHECK(understood.fatal == fatal);
    CHECK(understood.reconnect == reconnect);
    CHECK(understood.words.find("user_script") == std::string::npos);
}

TEST_CASE("a refusal says where, what, the server's words and what to grant", "[redis][replies]")
{
    auto const answer = refused(
        classify("NOPERM this user has no permissions to run the 'del' command"), "redis://host:6379/0", "pool:0..15");
    CHECK(answer.detail.starts_with("redis://host:6379/0: pool:0..15: NOPERM this user"));
    CHECK(answer.detail.find("grant +del to the user") != std::string::npos);
    CHECK(answer.fatal);
}

TEST_CASE("MULTI and EXEC are granted together, and keys with the counter of fencing tokens", "[redis][replies]")
{
    auto const* const command = GENERATE("multi", "exec");
    auto const refusal = "NOPERM this user has no permissions to run the '" + std::string(command) + "' command";
    CHECK(classify(refusal).advice.find("grant +multi +exec to the user") != std::string::npos);
    auto const keys = classify("NOPERM this user has no permissions to access one of the keys used as arguments");
    CHECK(keys.advice.find("~PREFIX* ~tenure:fence") != std::string::npos);
}
