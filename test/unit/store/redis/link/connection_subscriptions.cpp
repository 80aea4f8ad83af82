// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "connection_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

namespace tenure::test
{

using redis::resp::Value;

namespace
{

std::string list(char kind, std::string_view word, std::string_view channel, std::string_view last)
{
    return std::string(1, kind) + "3\r\n$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n$" +
           std::to_string(channel.size()) + "\r\n" + std::string(channel) + "\r\n" + std::string(last);
}

/// ready, and in RESP2
void open_old(ConnectionFixture& test)
{
    test.connection->open();
    test.runtime->run_ready();
    test.stream().accept();
    test.send("-ERR unknown command 'HELLO'\r\n");
    REQUIRE(test.connection->ready());
    REQUIRE(test.connection->server().protocol == 2);
}

/** Subscribes to two channels, of which the server has confirmed the first. */
auto subscribe_to_one_of_two(ConnectionFixture& test)
{
    test.open();
    auto subscribed = test.ask(Command("SUBSCRIBE", "a", "b"));
    test.runtime->run_ready();
    test.send(list('>', "subscribe", "a", ":1\r\n"));
    return subscribed;
}

} // namespace

TEST_CASE("a subscription holds its place among the replies")
{
    OpenConnection test;
    auto const before = test.ask(Command("GET", "a"));
    auto const subscribed = test.ask(Command("SUBSCRIBE", "news"));
    auto const after = test.ask(Command("GET", "b"));
    test.runtime->run_ready();
    test.send("$1\r\nx\r\n");
    CHECK(before->has_value());
    CHECK_FALSE(subscribed->has_value());
    test.send(list('>', "subscribe", "news", ":1\r\n"));
    REQUIRE(subscribed->has_value());
    CHECK((*subscribed)->delivery == Delivery::answered);
    CHECK_FALSE((*subscribed)->reply.is_error());
    CHECK_FALSE(after->has_value());
    test.send("$1\r\ny\r\n");
    REQUIRE(after->has_value());
    CHECK((*after)->reply == Value::text("y"));
    CHECK(test.pushes.empty());
}

TEST_CASE("a refused subscription shifts no other reply")
{
    OpenConnection test;
    auto const subscribed = test.ask(Command("SUBSCRIBE", "news", "more"));
    auto const after = test.ask(Command("GET", "b"));
    test.runtime->run_ready();
    test.send("-NOPERM no permissions to access one of the channels\r\n$1\r\ny\r\n");
    REQUIRE(subscribed->has_value());
    CHECK((*subscribed)->reply.error_word() == "NOPERM");
    REQUIRE(after->has_value());
    CHECK((*after)->reply == Value::text("y"));
}

TEST_CASE("a command with several channels ends with the last confirmation")
{
    ConnectionFixture test;
    auto const subscribed = subscribe_to_one_of_two(test);
    CHECK_FALSE(subscribed->has_value());
    test.send(list('>', "subscribe", "b", ":2\r\n"));
    CHECK(subscribed->has_value());

    auto const ended = test.ask(Command("UNSUBSCRIBE", "a", "b"));
    test.runtime->run_ready();
    test.send(list('>', "unsubscribe", "b", ":1\r\n") + list('>', "unsubscribe", "a", ":0\r\n"));
    CHECK(ended->has_value());
}

TEST_CASE("messages are told apart from replies, and are no answers")
{
    OpenConnection test;
    auto const subscribed = test.ask(Command("SUBSCRIBE", "news"));
    auto const reply = test.ask(Command("GET", "a"));
    test.runtime->run_ready();
    test.send(
        list('>', "message", "older", "$2\r\nhi\r\n") + list('>', "subscribe", "news", ":1\r\n") +
        list('>', "message", "news", "$2\r\nho\r\n") + "$1\r\nx\r\n");
    CHECK(subscribed->has_value());
    REQUIRE(reply->has_value());
    CHECK((*reply)->reply == Value::text("x"));
    REQUIRE(test.pushes.size() == 2);
    CHECK(test.pushes[0].elements()[1].as_string() == "older");
    CHECK(test.pushes[1].elements()[2].as_string() == "ho");
}

TEST_CASE("a server may end a subscription by itself, but not begin one")
{
    OpenConnection test;
    test.send(list('>', "sunsubscribe", "news", ":0\r\n"));
    CHECK(test.connection->ready());
    REQUIRE(test.pushes.size() == 1);
    // not even while another one is awaited
    auto const other = test.ask(Command("SUNSUBSCRIBE", "other"));
    test.runtime->run_ready();
    test.send(list('>', "sunsubscribe", "news", ":0\r\n"));
    CHECK_FALSE(other->has_value());
    CHECK(test.pushes.size() == 2);
    test.send(list('>', "subscribe", "news", ":1\r\n"));
    CHECK_FALSE(test.connection->ready());
    REQUIRE(other->has_value());
    CHECK((*other)->delivery == Delivery::unknown);
}

TEST_CASE("a plain reply is no confirmation")
{
    OpenConnection test;
    auto const subscribed = test.ask(Command("SUBSCRIBE", "news"));
    test.runtime->run_ready();
    test.send("+OK\r\n");
    REQUIRE(subscribed->has_value());
    CHECK((*subscribed)->delivery == Delivery::unknown);
    CHECK((*subscribed)->error == errc::protocol_error);
    CHECK(test.stream().closed);
}

TEST_CASE("in RESP2 a connection that has subscribed gets its messages as pushes")
{
    ConnectionFixture test;
    open_old(test);
    auto const subscribed = test.ask(Command("SUBSCRIBE", "news"));
    test.runtime->run_ready();
    test.send(list('*', "subscribe", "news", ":1\r\n"));
    CHECK(subscribed->has_value());
    test.send(list('*', "message", "news", "$2\r\nhi\r\n"));
    REQUIRE(test.pushes.size() == 1);
    CHECK(test.pushes[0].elements()[2].as_string() == "hi");
    auto const ended = test.ask(Command("UNSUBSCRIBE", "news"));
    test.runtime->run_ready();
    test.send(list('*', "message", "news", "$2\r\nho\r\n") + list('*', "unsubscribe", "news", ":0\r\n"));
    CHECK(ended->has_value());
    CHECK(test.pushes.size() == 2);
    CHECK(test.connection->ready());
}

TEST_CASE("in RESP2 a reply that looks like a message is one only after a subscription")
{
    ConnectionFixture test;
    open_old(test);
    auto const reply = test.ask(Command("MGET", "a", "b", "c"));
    test.runtime->run_ready();
    test.send(list('*', "message", "news", "$2\r\nhi\r\n"));
    REQUIRE(reply->has_value());
    CHECK((*reply)->reply.elements().size() == 3);
    CHECK(test.pushes.empty());
}

TEST_CASE("a subscription does not outlive its connection")
{
    ConnectionFixture test;
    auto const subscribed = subscribe_to_one_of_two(test);
    test.cut();
    REQUIRE(subscribed->has_value());
    CHECK((*subscribed)->delivery == Delivery::unknown);
}

} // namespace tenure::test
