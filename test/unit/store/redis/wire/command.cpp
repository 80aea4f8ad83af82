// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/wire/command.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace tenure::redis::resp
{

TEST_CASE("a command is encoded as an array of bulk strings")
{
    Command command("SET", "key", std::string("value"), "PX", 5000);
    CHECK(command.size() == 5);
    CHECK(command.encoded() == "*5\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n$2\r\nPX\r\n$4\r\n5000\r\n");
    CHECK(command.encoded_size() == command.encoded().size());
}

TEST_CASE("arguments may hold any byte, and none")
{
    std::string const odd("a\0\r\n$", 5);
    Command command("SET");
    command.add(odd).add("");
    CHECK(command.encoded() == "*3\r\n$3\r\nSET\r\n$5\r\n" + odd + "\r\n$0\r\n\r\n");
}

TEST_CASE("the extreme integers are encoded exactly")
{
    Command command("X");
    command.add(std::numeric_limits<std::int64_t>::min()).add(std::numeric_limits<std::uint64_t>::max());
    CHECK(command.encoded() == "*3\r\n$1\r\nX\r\n$20\r\n-9223372036854775808\r\n$20\r\n18446744073709551615\r\n");
}

TEST_CASE("arguments that were encoded once serve many commands")
{
    EncodedArguments keys;
    for (int i = 0; i < 1024; ++i)
        keys.add("pool:" + std::to_string(i));
    Command shared("EVALSHA", "sha", 1024);
    shared.add(keys).add("owner");
    Command plain("EVALSHA", "sha", 1024);
    for (int i = 0; i < 1024; ++i)
        plain.add("pool:" + std::to_string(i));
    plain.add("owner");
    CHECK(shared.size() == 1028);
    CHECK(shared.encoded() == plain.encoded());
    CHECK(shared.encoded_size() == plain.encoded_size());
    CHECK(shared.encoded().starts_with("*1028\r\n"));
}

TEST_CASE("a command that grows says how many arguments it has, and a run id in it stays in its place")
{
    Command command("X");
    command.add_run_id();
    std::string arguments = "$1\r\nX\r\n$40\r\n" + std::string(40, 'b') + "\r\n";
    for (int i = 3; i <= 120; ++i) {
        command.add(7);
        arguments += "$1\r\n7\r\n";
        command.set_run_id(std::string(40, 'b'));
        REQUIRE(command.encoded() == "*" + std::to_string(i) + "\r\n" + arguments);
        REQUIRE(command.copy().encoded() == command.encoded());
        REQUIRE(command.encoded_size() == command.encoded().size());
    }
    command.add("last");
    CHECK(command.names("last"));
    CHECK(command.names("7"));
    CHECK_FALSE(command.names("X"));
}

TEST_CASE("a command may begin with arguments that were encoded before")
{
    EncodedArguments first;
    first.add_all(std::string_view("EVALSHA"), std::string_view("sha"), 1);
    auto const range = numbered_keys("pool:", 20);
    CHECK(
        Command(first, KeyOf{*range, 7}, "owner").encoded() ==
        Command("EVALSHA", "sha", 1, range->key(7), "owner").encoded());
    CHECK(Command(first, KeyOf{*named_key("lock"), 0}).encoded() == Command("EVALSHA", "sha", 1, "lock").encoded());
    Command many(first, "a", "b", "c", "d", "e", "f");
    many.add("g");
    CHECK(many.encoded() == Command("EVALSHA", "sha", 1, "a", "b", "c", "d", "e", "f", "g").encoded());
}

TEST_CASE("a command of the subscribe family expects one confirmation for each channel")
{
    CHECK(Command("SUBSCRIBE", "a", "b", "c").expected_answers() == 3);
    CHECK(Command("SUBSCRIBE", "a").answer() == Command::Answer::subscribe);
    CHECK(Command("sunsubscribe", "a").answer() == Command::Answer::sunsubscribe);
    CHECK(Command("MGET", "a", "b").expected_answers() == 1);
    CHECK(Command("SUBSCRIBERS", "a").answer() == Command::Answer::reply);
}

TEST_CASE("a command knows its own channels, not its name")
{
    Command const command("SUBSCRIBE", "first", "second channel", "");
    CHECK(command.names("first"));
    CHECK(command.names("second channel"));
    CHECK(command.names(""));
    CHECK_FALSE(command.names("second"));
    CHECK_FALSE(command.names("SUBSCRIBE"));
}

} // namespace tenure::redis::resp
