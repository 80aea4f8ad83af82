// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A connection reads the replies to a transaction.
#include "connection_fixture.hpp"

#include "store/redis/wire/transaction.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>
#include <utility>

namespace tenure::test
{

using redis::resp::Value;

namespace
{

Command two_commands()
{
    redis::resp::Transaction transaction(100);
    transaction.add("SET", "a", "me");
    transaction.add("INCR", "b");
    return std::move(transaction).end();
}

/** Ready, in RESP2 or RESP3. */
void open_in(ConnectionFixture& test, int protocol)
{
    if (protocol == 3) {
        test.open();
    } else {
        test.connection->open();
        test.runtime->run_ready();
        test.stream().accept();
        test.send("-ERR unknown command 'HELLO'\r\n");
        (void)test.stream().take_received();
    }
    REQUIRE(test.connection->ready());
    REQUIRE(test.connection->server().protocol == protocol);
}

struct TransactionFixture : ConnectionFixture {
    explicit TransactionFixture(int protocol = 3)
    {
        open_in(*this, protocol);
        asked = ask(two_commands());
        after = ask(Command("GET", "c"));
        runtime->run_ready();
    }

    OutcomePtr asked;
    OutcomePtr after;
};

} // namespace

TEST_CASE("a transaction is written at once, and answered with what EXEC brings")
{
    auto const protocol = GENERATE(2, 3);
    ConnectionFixture test;
    open_in(test, protocol);
    auto const outcome = test.ask(two_commands());
    CHECK(test.received() == two_commands().encoded());
    auto const null = protocol == 2 ? std::string("$-1\r\n") : std::string("_\r\n");
    auto const bytes = "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" + null + ":7\r\n";
    SECTION("in one read")
    {
        test.send(bytes);
    }
    SECTION("byte by byte")
    {
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            CHECK_FALSE(outcome->has_value());
            test.send(bytes.substr(at, 1));
        }
    }
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->delivery == Delivery::answered);
    CHECK_FALSE((*outcome)->ran_apart);
    auto const replies = (*outcome)->reply.elements();
    REQUIRE(replies.size() == 2);
    CHECK(replies[0].is_null());
    CHECK(replies[1] == Value::integer(7));
}

TEST_CASE("commands before and behind a transaction get their own replies")
{
    TransactionFixture test(GENERATE(2, 3));
    auto const more = test.ask(two_commands());
    test.runtime->run_ready();
    test.send("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:7\r\n$1\r\nx\r\n+OK\r\n-ERR no\r\n+QUEUED\r\n");
    CHECK((*test.asked)->reply.elements().size() == 2);
    CHECK((*test.after)->reply == Value::text("x"));
    CHECK_FALSE(more->has_value());
    test.send("-EXECABORT Transaction discarded because of previous errors.\r\n");
    REQUIRE(more->has_value());
    CHECK((*more)->reply == Value::error("ERR no"));
}

TEST_CASE("where nothing ran, the first refusal is the answer")
{
    struct Case {
        std::string replies;
        std::string error;
    };
    auto const [replies, error] = GENERATE(values<Case>({
        {"-NOPERM no key\r\n-OOM no memory\r\n-EXECABORT Transaction discarded because of previous errors.\r\n",
         "NOPERM no key"},
        {"+QUEUED\r\n-MOVED 7 host:1\r\n-EXECABORT Transaction discarded because of previous errors.\r\n",
         "MOVED 7 host:1"},
        // commands that Redis 7 refuses at EXEC only
        {"+QUEUED\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of: OOM no memory\r\n", "OOM no memory"},
        {"+QUEUED\r\n+QUEUED\r\n-EXECABORT of some other kind\r\n", "EXECABORT of some other kind"},
        // the slot has moved meanwhile
        {"+QUEUED\r\n+QUEUED\r\n-MOVED 7 host:1\r\n", "MOVED 7 host:1"},
        {"+QUEUED\r\n+QUEUED\r\n-ASK 7 host:1\r\n", "ASK 7 host:1"},
        {"+QUEUED\r\n+QUEUED\r\n-TRYAGAIN later\r\n", "TRYAGAIN later"},
        {"+QUEUED\r\n+QUEUED\r\n-CLUSTERDOWN The cluster is down\r\n", "CLUSTERDOWN The cluster is down"},
        {"+QUEUED\r\n+QUEUED\r\n-CROSSSLOT no\r\n", "CROSSSLOT no"},
    }));
    CAPTURE(replies);
    TransactionFixture test;
    test.send("+OK\r\n" + replies);
    REQUIRE(test.asked->has_value());
    CHECK((*test.asked)->delivery == Delivery::answered);
    CHECK((*test.asked)->reply == Value::error(error));
    CHECK_FALSE((*test.asked)->ran_apart);
    // and the connection goes on
    test.send("$1\r\nx\r\n");
    CHECK((*test.after)->reply == Value::text("x"));
}

TEST_CASE("a server that refuses EXEC itself may go on queueing, so its connection is dropped")
{
    TransactionFixture test;
    test.send("+OK\r\n+QUEUED\r\n+QUEUED\r\n-NOPERM this user has no permissions to run the 'exec' command\r\n");
    REQUIRE(test.asked->has_value());
    CHECK((*test.asked)->delivery == Delivery::answered);
    CHECK((*test.asked)->reply.error_word() == "NOPERM");
    REQUIRE(test.after->has_value());
    CHECK((*test.after)->delivery == Delivery::unknown);
    CHECK_FALSE(test.connection->ready());
}

TEST_CASE("where MULTI is refused, all replies are handed over, and that the commands ran one by one")
{
    TransactionFixture test(GENERATE(2, 3));
    test.send("-NOPERM no multi\r\n+OK\r\n-WRONGTYPE no\r\n");
    CHECK_FALSE(test.asked->has_value());
    test.send(GENERATE("-ERR EXEC without MULTI\r\n", "-NOPERM no exec\r\n"));
    REQUIRE(test.asked->has_value());
    CHECK((*test.asked)->ran_apart);
    auto const replies = (*test.asked)->reply.elements();
    REQUIRE(replies.size() == 3);
    CHECK(replies[0] == Value::error("NOPERM no multi"));
    CHECK(replies[1].is_ok());
    CHECK(replies[2] == Value::error("WRONGTYPE no"));
    test.send("$1\r\nx\r\n");
    CHECK((*test.after)->reply == Value::text("x"));
}

TEST_CASE("a command that a proxy refuses by itself has its refusal as the reply, and the others ran")
{
    TransactionFixture test(GENERATE(2, 3));
    auto const first = GENERATE(true, false);
    if (first)
        test.send("+OK\r\n-ERR unsupported command\r\n+QUEUED\r\n*1\r\n:7\r\n");
    else
        test.send("+OK\r\n+QUEUED\r\n-ERR unsupported command\r\n*1\r\n:7\r\n");
    REQUIRE(test.asked->has_value());
    CHECK((*test.asked)->delivery == Delivery::answered);
    CHECK_FALSE((*test.asked)->ran_apart);
    auto const replies = (*test.asked)->reply.elements();
    REQUIRE(replies.size() == 2);
    CHECK(replies[first ? 0 : 1] == Value::error("ERR unsupported command"));
    CHECK(replies[first ? 1 : 0] == Value::integer(7));
    test.send("$1\r\nx\r\n");
    CHECK((*test.after)->reply == Value::text("x"));
}

TEST_CASE("replies that no transaction has drop the connection, and leave the outcome unknown")
{
    auto const* const replies = GENERATE(
        "+FINE\r\n", ":1\r\n", "+OK\r\n+OK\r\n", "+OK\r\n:1\r\n", "+OK\r\n$6\r\nQUEUED\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*1\r\n+OK\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n:1\r\n:1\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n_\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n*-1\r\n", "+OK\r\n+QUEUED\r\n-OOM no\r\n*2\r\n+OK\r\n:1\r\n",
        // in the place of "EXEC without MULTI"
        "-NOPERM no\r\n+OK\r\n:1\r\n*2\r\n+OK\r\n:1\r\n");
    CAPTURE(replies);
    TransactionFixture test;
    test.send(replies);
    REQUIRE(test.asked->has_value());
    CHECK((*test.asked)->delivery == Delivery::unknown);
    CHECK((*test.asked)->error == errc::protocol_error);
    CHECK_FALSE(test.connection->ready());
}

TEST_CASE("replies of a lost connection to a transaction say nothing about the next one")
{
    TransactionFixture test;
    auto const refused = GENERATE(true, false);
    test.send(refused ? "-NOPERM no\r\n+OK\r\n" : "+OK\r\n-OOM no\r\n");
    test.cut();
    REQUIRE(test.asked->has_value());
    CHECK((*test.asked)->delivery == Delivery::unknown);
    test.runtime->run_for(1s);
    test.become_ready();
    auto const again = test.ask(two_commands());
    test.runtime->run_ready();
    test.send("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:8\r\n");
    REQUIRE(again->has_value());
    CHECK_FALSE((*again)->ran_apart);
    CHECK((*again)->reply.elements().back() == Value::integer(8));
}

TEST_CASE("a transaction that is not written in time is not sent, once")
{
    ConnectionFixture test;
    auto const outcome = test.ask(two_commands(), 100ms);
    test.runtime->run_for(200ms);
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->delivery == Delivery::not_sent);
    test.become_ready();
    CHECK(test.received().empty());
    CHECK_FALSE(ConnectionFixture::twice());
}

} // namespace tenure::test
