// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "connection_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <optional>
#include <stdexcept>

namespace tenure::test
{

using redis::resp::Value;

TEST_CASE("the first request of a turn leaves at once, the others in one write, and replies go to theirs in order")
{
    OpenConnection test;
    auto const writes = test.stream().writes;
    std::vector<ConnectionFixture::OutcomePtr> outcomes;
    std::string expected;
    for (int i = 0; i < 20; ++i) {
        Command command("GET", "key" + std::to_string(i));
        expected += command.encoded();
        outcomes.push_back(test.ask(std::move(command)));
        CHECK(test.stream().writes == writes + 1);
    }
    CHECK(test.received() == expected);
    CHECK(test.stream().writes == writes + 2);

    std::string replies;
    for (int i = 0; i < 20; ++i)
        replies += ":" + std::to_string(i) + "\r\n";
    test.stream().send_bytewise(replies);
    test.runtime->run_ready();
    for (int i = 0; i < 20; ++i) {
        auto const& outcome = *outcomes[static_cast<std::size_t>(i)];
        REQUIRE(outcome.has_value());
        CHECK(outcome->reply == Value::integer(i));
    }
    CHECK_FALSE(ConnectionFixture::twice());
}

TEST_CASE("a great many requests of one turn do not wait for the last of them, nor leave one by one")
{
    OpenConnection test;
    test.stream().at_once = 1'000'000;
    std::string expected;
    std::size_t pieces = 0;
    for (int i = 0; i < 1000; ++i) {
        // the server's pace does not limit renewals
        Command command("GET", "key" + std::to_string(i));
        command.set_urgency(redis::resp::Urgency::renewal);
        expected += command.encoded();
        auto const before = test.stream().received.size();
        (void)test.ask(std::move(command));
        pieces += test.stream().received.size() > before ? 1U : 0U;
    }
    CHECK(pieces > 10);
    CHECK(pieces < 100);
    CHECK(test.received() == expected);
}

TEST_CASE("a request that has to leave with the next leaves in one write with it, however many there are")
{
    OpenConnection test;
    auto const writes = test.stream().writes;
    auto const count = GENERATE(2, 100);
    std::string expected;
    for (int i = 0; i < count; ++i) {
        Command command("GET", "key" + std::to_string(i));
        if (i + 1 < count)
            command.leave_with_next();
        expected += command.encoded();
        CHECK(test.stream().writes == writes);
        (void)test.ask(std::move(command));
    }
    CHECK(test.stream().writes == writes + 1);
    CHECK(test.received() == expected);
    CHECK(test.stream().writes == writes + 1);
}

TEST_CASE("a request that has to leave with the next leaves all the same if none comes")
{
    OpenConnection test;
    test.stream().at_once = 1'000'000;
    (void)test.ask(Command("PING", "1").leave_with_next().copy());
    CHECK(test.stream().take_received().empty());
    CHECK(test.received() == Command("PING", "1").encoded());
}

TEST_CASE("while an answer is awaited, a request waits for those of its turn; else it waits for nothing")
{
    OpenConnection test;
    test.stream().at_once = 1'000'000;
    (void)test.ask(Command("PING", "1"));
    CHECK(test.stream().take_received() == Command("PING", "1").encoded());
    CHECK(test.connection->oldest_unanswered() == test.runtime->now());
    (void)test.ask(Command("PING", "2"));
    CHECK(test.stream().take_received().empty());
    CHECK(test.received() == Command("PING", "2").encoded());
    test.send("+1\r\n+2\r\n");
    (void)test.ask(Command("PING", "3"));
    CHECK(test.stream().take_received() == Command("PING", "3").encoded());
}

TEST_CASE("an error of the server is an answer")
{
    OpenConnection test;
    auto const first = test.ask(Command("SET", "key", "value"));
    auto const second = test.ask(Command("GET", "key"));
    test.runtime->run_ready();
    test.send("-READONLY You can't write against a read only replica.\r\n$1\r\nx\r\n");
    REQUIRE(first->has_value());
    CHECK((*first)->delivery == Delivery::answered);
    CHECK((*first)->reply.error_word() == "READONLY");
    REQUIRE(second->has_value());
    CHECK((*second)->reply == Value::text("x"));
}

TEST_CASE("a handler is never called within execute, and its follow-ups leave together")
{
    OpenConnection test;
    int answered = 0;
    for (int i = 0; i < 10; ++i)
        test.connection->execute(Command("GET", "a"), Instant::max(), [&](Outcome const&) {
            ++answered;
            test.connection->execute(Command("DEL", "a"), Instant::max(), [&](Outcome const&) { ++answered; });
        });
    CHECK(answered == 0);
    (void)test.received();
    auto const writes = test.stream().writes;
    std::string replies;
    for (int i = 0; i < 10; ++i)
        replies += "_\r\n";
    test.send(replies);
    CHECK(answered == 10);
    CHECK(test.stream().writes == writes + 1);
    test.send(replies);
    CHECK(answered == 20);
}

TEST_CASE("the next read begins behind the functions that the handlers of a reply post")
{
    OpenConnection test;
    std::optional<bool> reads;
    test.connection->execute(Command("GET", "a"), Instant::max(), [&](Outcome const&) {
        test.runtime->post([&] { reads = test.stream().reading(); });
    });
    CHECK(test.stream().reading());
    test.send("_\r\n");
    REQUIRE(reads);
    CHECK_FALSE(*reads);
    CHECK(test.stream().reading());
}

TEST_CASE("`since` is the instant of the write, not of the request")
{
    ConnectionFixture test;
    auto const outcome = test.ask(Command("PING"));
    test.runtime->run_for(1s);
    test.become_ready();
    auto const written_at = test.runtime->now();
    CHECK(test.connection->oldest_unanswered() == written_at);
    test.runtime->run_for(300ms);
    test.send("+PONG\r\n");
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->since == written_at);
    CHECK(test.connection->oldest_unanswered() == Instant::max());
}

TEST_CASE("a stream that takes everything at once needs no further event")
{
    OpenConnection test;
    auto const writes = test.stream().writes;
    test.stream().at_once = 1'000'000;
    auto const first = test.ask(Command("PING", "1"));
    CHECK(test.received() == Command("PING", "1").encoded());
    auto const second = test.ask(Command("PING", "2"));
    CHECK(test.received() == Command("PING", "2").encoded());
    CHECK(test.stream().writes == writes);
    test.send("+1\r\n+2\r\n");
    REQUIRE(first->has_value());
    REQUIRE(second->has_value());
    CHECK((*second)->reply == Value::status("2"));
}

TEST_CASE("a request that waits for a write under way is stamped when it is written itself")
{
    OpenConnection test;
    test.stream().stalled = true;
    auto const first = test.ask(Command("PING", "1"));
    test.runtime->run_ready();
    auto const first_written = test.runtime->now();
    auto const second = test.ask(Command("PING", "2"));
    test.runtime->run_for(400ms);
    CHECK(test.stream().writes == 2);
    test.stream().finish_write({}, test.stream().unfinished());
    test.runtime->run_ready();
    CHECK(test.stream().writes == 3);
    auto const second_written = test.runtime->now();
    test.stream().finish_write({}, test.stream().unfinished());
    test.runtime->run_for(10ms);
    test.send("+1\r\n+2\r\n");
    REQUIRE(first->has_value());
    REQUIRE(second->has_value());
    CHECK((*first)->since == first_written);
    CHECK((*second)->since == second_written);
    CHECK(second_written - first_written == 400ms);
}

TEST_CASE("a request that is still unwritten when its time is over is dropped as not sent")
{
    ConnectionFixture test;
    SECTION("there is no connection")
    {
        auto const outcome = test.ask(Command("SET", "key", "value"), 500ms);
        auto const other = test.ask(Command("PING"), 700ms);
        test.runtime->run_for(500ms - 1ns);
        CHECK_FALSE(outcome->has_value());
        test.runtime->run_for(1ns);
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->delivery == Delivery::not_sent);
        CHECK((*outcome)->error == errc::store_unavailable);
        CHECK_FALSE((*outcome)->fatal);
        CHECK_FALSE(other->has_value());
        test.stream().accept();
        test.runtime->run_ready();
        (void)test.received();
        test.stream().send(hello_reply);
        CHECK(test.received() == Command("PING").encoded());
    }
    SECTION("the write before it is stuck")
    {
        test.open();
        test.stream().stalled = true;
        auto const stuck = test.ask(Command("PING"), 1s);
        test.runtime->run_ready();
        auto const outcome = test.ask(Command("SET", "key", "value"), 500ms);
        test.runtime->run_for(499ms);
        CHECK_FALSE(outcome->has_value());
        test.runtime->run_for(1ms);
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->delivery == Delivery::not_sent);
        test.runtime->run_for(2s);
        CHECK_FALSE(stuck->has_value());
    }
    SECTION("the process stood still")
    {
        test.open();
        // while its answer is awaited, the next one waits for the end of the turn
        (void)test.ask(Command("PING"));
        CHECK(test.received() == Command("PING").encoded());
        auto const outcome = test.ask(Command("SET", "key", "value"), 500ms);
        test.runtime->skip(500ms);
        CHECK(test.received().empty());
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->delivery == Delivery::not_sent);
    }
    SECTION("its time was over from the start")
    {
        test.open();
        auto const outcome = test.ask(Command("SET", "key", "value"), 0ms);
        CHECK(test.received().empty());
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->delivery == Delivery::not_sent);
    }
}

TEST_CASE("an unsolicited reply drops the connection")
{
    OpenConnection test;
    SECTION("while nothing is under way")
    {
        test.send("+OK\r\n");
        CHECK(test.stream().closed);
    }
    SECTION("as a second reply to one request")
    {
        auto const outcome = test.ask(Command("GET", "a"));
        test.runtime->run_ready();
        test.send("$1\r\nx\r\n$1\r\ny\r\n");
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->reply == Value::text("x"));
        CHECK(test.stream().closed);
    }
    SECTION("before the request that waits behind a stuck write")
    {
        test.stream().stalled = true;
        auto const first = test.ask(Command("GET", "a"));
        test.runtime->run_ready();
        auto const second = test.ask(Command("GET", "b"));
        test.runtime->run_ready();
        test.send("$1\r\nx\r\n$1\r\ny\r\n");
        REQUIRE(first->has_value());
        CHECK((*first)->delivery == Delivery::answered);
        CHECK_FALSE(second->has_value());
        CHECK(test.stream().closed);
    }
    CHECK(test.connection->state() == ConnectionState::backing_off);
    CHECK(test.runtime->logged("unsolicited") == 1);
}

TEST_CASE("a malformed reply makes all that was written unknown")
{
    OpenConnection test;
    auto const first = test.ask(Command("GET", "a"));
    auto const second = test.ask(Command("GET", "b"));
    auto const third = test.ask(Command("GET", "c"));
    test.runtime->run_ready();
    test.send("$1\r\nx\r\n$\r\n$1\r\nz\r\n");
    REQUIRE(first->has_value());
    REQUIRE(second->has_value());
    REQUIRE(third->has_value());
    CHECK((*first)->delivery == Delivery::answered);
    CHECK((*second)->delivery == Delivery::unknown);
    CHECK((*second)->error == errc::protocol_error);
    CHECK((*third)->delivery == Delivery::unknown);
    CHECK(test.stream().closed);
}

TEST_CASE("replies are bounded, except where the command expects more")
{
    OpenConnection test;
    std::string const large = "$100000\r\n" + std::string(100000, 'x') + "\r\n";
    Command expecting("MGET", "a");
    expecting.expect_reply_bytes(200000);
    auto const expected = test.ask(std::move(expecting));
    auto const unexpected = test.ask(Command("GET", "a"));
    test.runtime->run_ready();
    test.send(large);
    REQUIRE(expected->has_value());
    CHECK((*expected)->delivery == Delivery::answered);
    CHECK((*expected)->reply.as_string().size() == 100000);
    test.send(large);
    REQUIRE(unexpected->has_value());
    CHECK((*unexpected)->delivery == Delivery::unknown);
    CHECK((*unexpected)->error == errc::protocol_error);
}

TEST_CASE("closing ends everything exactly once and leaves nothing behind")
{
    // a replaced connection ends like a lost one, because the store is open
    bool const replaced = GENERATE(false, true);
    error_code const why = make_error_code(replaced ? errc::store_unavailable : errc::closed);
    StalledConnection test;
    replaced ? test.connection->give_up() : test.connection->close();
    CHECK(test.stream().closed);
    CHECK_FALSE(test.written->has_value());
    test.runtime->run_ready();
    REQUIRE(test.written->has_value());
    CHECK((*test.written)->delivery == Delivery::unknown);
    CHECK((*test.written)->error == why);
    REQUIRE(test.waiting->has_value());
    CHECK((*test.waiting)->delivery == Delivery::not_sent);
    CHECK((*test.waiting)->error == why);
    CHECK(test.states.back() == ConnectionState::closed);
    CHECK(test.runtime->timers() == 0);
    CHECK(test.runtime->ready() == 0);

    auto const later = test.ask(Command("GET", "c"));
    test.connection->open();
    test.runtime->run_ready();
    REQUIRE(later->has_value());
    CHECK((*later)->delivery == Delivery::not_sent);
    CHECK(test.streams.count() == 1);
    CHECK_FALSE(ConnectionFixture::twice());
}

TEST_CASE("a handler may close the connection while further replies are at hand")
{
    OpenConnection test;
    test.connection->execute(Command("GET", "a"), Instant::max(), [&](Outcome const&) { test.connection->close(); });
    auto const second = test.ask(Command("GET", "b"));
    test.runtime->run_ready();
    test.send("$1\r\nx\r\n$1\r\ny\r\n");
    REQUIRE(second->has_value());
    CHECK((*second)->delivery == Delivery::unknown);
    CHECK((*second)->error == errc::closed);
}

TEST_CASE("a handler may drop the last reference to the connection")
{
    OpenConnection test;
    test.connection->execute(Command("GET", "a"), Instant::max(), [&](Outcome const&) { test.connection.reset(); });
    auto const second = test.ask(Command("GET", "b"));
    test.runtime->run_ready();
    auto& stream = test.stream();
    stream.send("$1\r\nx\r\n");
    test.runtime->run_ready();
    CHECK(stream.closed);
    REQUIRE(second->has_value());
    CHECK((*second)->delivery == Delivery::unknown);
    CHECK(test.runtime->timers() == 0);
}

TEST_CASE("a handler that throws costs the other requests nothing")
{
    OpenConnection test;
    test.connection->execute(
        Command("GET", "a"), Instant::max(), [](Outcome const&) { throw std::runtime_error("a handler's own"); });
    auto const second = test.ask(Command("GET", "b"));
    test.runtime->run_ready();
    test.stream().send("$1\r\nx\r\n$1\r\ny\r\n");
    CHECK_THROWS_AS(test.runtime->run_ready(), std::runtime_error);
    test.runtime->run_ready();
    REQUIRE(second->has_value());
    CHECK((*second)->reply == Value::text("y"));
    auto const third = test.ask(Command("GET", "c"));
    test.runtime->run_ready();
    test.send("$1\r\nz\r\n");
    CHECK(third->has_value());
}

} // namespace tenure::test
