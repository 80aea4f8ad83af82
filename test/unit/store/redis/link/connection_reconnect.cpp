// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "connection_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace tenure::test
{

namespace asio = boost::asio;

TEST_CASE("a lost connection makes the written unknown, and the unwritten wait for the next")
{
    StalledConnection test;
    auto const written_at = test.runtime->now();
    test.cut();
    REQUIRE(test.written->has_value());
    CHECK((*test.written)->delivery == Delivery::unknown);
    CHECK((*test.written)->since == written_at);
    CHECK((*test.written)->error == errc::store_unavailable);
    CHECK((*test.written)->detail == "the server closed the connection");
    CHECK_FALSE(test.waiting->has_value());
    CHECK(test.connection->last_error() == "the server closed the connection");
    CHECK(test.runtime->logged("lost the connection") == 1);

    test.runtime->run_for(100ms);
    REQUIRE(test.streams.count() == 2);
    test.stream().accept();
    CHECK(test.received() == Command("HELLO", 3).encoded());
    test.stream().send(hello_reply);
    CHECK(test.received() == Command("GET", "b").encoded());
    test.send("$1\r\nx\r\n");
    REQUIRE(test.waiting->has_value());
    CHECK((*test.waiting)->delivery == Delivery::answered);
    CHECK((*test.waiting)->since > written_at);
}

TEST_CASE("half a reply and a reset leave the request unknown")
{
    std::string const reply = "*2\r\n:1\r\n$5\r\nowner\r\n";
    for (std::size_t size = 0; size < reply.size(); ++size) {
        ConnectionFixture test;
        test.open();
        auto const outcome = test.ask(Command("EVALSHA", "sha", 0));
        test.runtime->run_ready();
        if (size > 0)
            test.stream().send(reply.substr(0, size));
        test.stream().end({asio::error::connection_reset, {}, false});
        test.runtime->run_ready();
        REQUIRE(outcome->has_value());
        REQUIRE((*outcome)->delivery == Delivery::unknown);
        // and the half is forgotten: the next connection starts clean
        auto const next = test.ask(Command("PING"));
        test.runtime->run_for(100ms);
        test.become_ready();
        test.send("+PONG\r\n");
        REQUIRE(next->has_value());
        REQUIRE((*next)->reply == redis::resp::Value::status("PONG"));
    }
}

TEST_CASE("a failed write tells apart what may have left and what surely did not")
{
    auto const a = Command("GET", "a").encoded().size();
    struct Case {
        std::size_t written;
        int unknown;
    };
    auto const [written, unknown] = GENERATE_COPY(
        Case{0, 0}, Case{1, 1}, Case{a - 1, 1}, Case{a, 1}, Case{a + 1, 2}, Case{2 * a, 2}, Case{2 * a + 1, 3},
        Case{3 * a, 3});
    // it makes no difference how much of it left at once
    auto const at_once = GENERATE_COPY(std::size_t{0}, std::size_t{1}, a, a + 1);
    if (at_once > written)
        return;
    OpenConnection test;
    // its answer is awaited, so that the others leave together
    test.stream().at_once = 1'000'000;
    auto const before = test.ask(Command("PING"));
    test.stream().stalled = true;
    test.stream().at_once = at_once;
    std::vector<ConnectionFixture::OutcomePtr> outcomes;
    for (auto const* const key : {"a", "b", "c"})
        outcomes.push_back(test.ask(Command("GET", key)));
    test.runtime->run_ready();
    test.stream().finish_write({asio::error::broken_pipe, {}, false}, written - at_once);
    test.runtime->run_ready();
    REQUIRE(before->has_value());
    CHECK((*before)->delivery == Delivery::unknown);
    int ended = 0;
    for (auto const& outcome : outcomes)
        if (outcome->has_value()) {
            CHECK((*outcome)->delivery == Delivery::unknown);
            ++ended;
        }
    CHECK(ended == unknown);

    // the others leave with the next connection, in order, and only they
    test.runtime->run_for(100ms);
    test.become_ready();
    std::string replies;
    for (int i = ended; i < 3; ++i)
        replies += ":" + std::to_string(i) + "\r\n";
    if (!replies.empty())
        test.send(replies);
    for (int i = ended; i < 3; ++i) {
        auto const& outcome = *outcomes[static_cast<std::size_t>(i)];
        REQUIRE(outcome.has_value());
        CHECK(outcome->reply == redis::resp::Value::integer(i));
    }
    CHECK(test.connection->ready());
}

TEST_CASE("a request that surely did not leave still ends when its time is over")
{
    OpenConnection test;
    test.stream().stalled = true;
    auto const outcome = test.ask(Command("GET", "a"), 300ms);
    test.runtime->run_ready();
    test.stream().finish_write({asio::error::broken_pipe, {}, false}, 0);
    test.runtime->run_for(299ms);
    CHECK_FALSE(outcome->has_value());
    test.runtime->run_for(1ms);
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->delivery == Delivery::not_sent);
}

TEST_CASE("an abandoned request leaves the queue at once, unless it was written")
{
    OpenConnection test;
    test.stream().stalled = true;
    auto const mark = std::make_shared<RequestMark>();
    Deadline const deadline(Instant::max(), mark);
    auto const written = test.ask(Command("GET", "a"), deadline);
    test.runtime->run_ready();
    auto const waiting = test.ask(Command("GET", "b"), deadline);
    auto const of_another = test.ask(Command("GET", "c"));
    test.runtime->run_ready();
    mark->ended = true;
    test.connection->drop_abandoned();
    CHECK_FALSE(waiting->has_value());
    test.runtime->run_ready();
    REQUIRE(waiting->has_value());
    CHECK((*waiting)->delivery == Delivery::not_sent);
    CHECK_FALSE((*waiting)->error);
    CHECK_FALSE(written->has_value());
    CHECK_FALSE(of_another->has_value());

    // and one that comes too late is never written
    auto const late = test.ask(Command("GET", "d"), deadline);
    test.runtime->run_ready();
    REQUIRE(late->has_value());
    CHECK((*late)->delivery == Delivery::not_sent);
}

TEST_CASE("a question ends with the first attempt to connect that fails")
{
    ConnectionFixture test;
    auto const request = test.ask(Command("GET", "a"));
    auto const question = test.ask(Command("GET", "b"), Deadline(test.runtime->now() + 1min).with_one_attempt());
    test.runtime->run_ready();
    test.stream().accept({asio::error::connection_refused, "cannot connect to host port 1: refused", false});
    test.runtime->run_ready();
    REQUIRE(question->has_value());
    CHECK((*question)->delivery == Delivery::not_sent);
    CHECK((*question)->error == errc::store_unavailable);
    CHECK((*question)->detail == "cannot connect to host port 1: refused");
    CHECK_FALSE(request->has_value());
}

TEST_CASE("while leases are held no pause between attempts costs one of them")
{
    RedisConfig config;
    config.reconnect_backoff = 2s;
    ConnectionFixture test(config);
    test.open();
    test.connection->shortest_ttl(2700ms);
    test.cut();
    test.runtime->run_for(100ms);
    SECTION("after a refusal")
    {
        test.stream().accept({make_error_code(errc::tls_failed), "the certificate is refused", true});
        test.runtime->run_ready();
        REQUIRE(test.connection->state() == ConnectionState::failed);
        test.runtime->run_for(2700ms / 12);
        test.connection->open();
        CHECK(test.connection->state() == ConnectionState::connecting);
    }
    SECTION("after many failures")
    {
        for (int failures = 0; failures < 12; ++failures) {
            auto const attempts = test.streams.count();
            test.stream().accept({asio::error::connection_refused, "refused", false});
            test.runtime->run_for(2700ms / 12);
            REQUIRE(test.streams.count() == attempts + 1);
        }
    }
}

TEST_CASE("pauses between attempts grow up to the limit, with jitter")
{
    RedisConfig config;
    config.reconnect_backoff = 1000ms;
    ConnectionFixture test(config);
    test.connection->open();
    test.runtime->run_ready();
    std::vector<std::chrono::nanoseconds> pauses;
    for (int i = 0; i < 12; ++i) {
        test.stream().accept({asio::error::connection_refused, "cannot connect: refused", false});
        test.runtime->run_ready();
        REQUIRE(test.connection->state() == ConnectionState::backing_off);
        auto const before = test.runtime->now();
        auto const count = test.streams.count();
        REQUIRE(test.runtime->run_while_not([&] { return test.streams.count() > count; }, 10s));
        pauses.push_back(test.runtime->now() - before);
    }
    std::chrono::nanoseconds step = 100ms;
    for (auto const pause : pauses) {
        CHECK(pause >= step / 2);
        CHECK(pause <= step);
        step = std::min<std::chrono::nanoseconds>(step * 2, 1000ms);
    }
    CHECK(pauses[10] != pauses[11]);
}

namespace
{

/** The warnings and errors among the lines. */
std::vector<std::string> warnings(FakeRuntime const& runtime)
{
    std::vector<std::string> result;
    for (auto const& line : runtime.lines())
        if (line.level >= LogLevel::warning)
            result.push_back(line.text);
    return result;
}

} // namespace

TEST_CASE("an outage of two hours is logged at once, after 1, 10 and 60 s, every 10 min, and at its end", "[log]")
{
    RedisConfig config;
    config.reconnect_backoff = 1000ms;
    ConnectionFixture test(config);
    test.connection->open();
    test.runtime->run_ready();
    auto const began = test.runtime->now();
    std::vector<std::chrono::seconds> times;
    while (test.runtime->now() < began + 2h) {
        test.stream().accept({asio::error::connection_refused, "refused", false});
        test.runtime->run_ready();
        while (times.size() < warnings(*test.runtime).size())
            times.push_back(std::chrono::floor<std::chrono::seconds>(test.runtime->now() - began));
        auto const count = test.streams.count();
        REQUIRE(test.runtime->run_while_not([&] { return test.streams.count() > count; }, 10s));
    }
    std::vector<std::chrono::seconds> expected{0s, 1s, 10s, 60s};
    // each is the first failure after its time
    auto next = 660s;
    REQUIRE(times.size() == 15);
    for (std::size_t i = expected.size(); i < times.size(); ++i, next = times[i - 1] + 600s)
        expected.push_back(next);
    for (std::size_t i = 0; i < times.size(); ++i) {
        CAPTURE(i, times[i].count(), expected[i].count());
        CHECK(times[i] >= expected[i]);
        CHECK(times[i] <= expected[i] + 2s);
    }
    auto const lines = warnings(*test.runtime);
    CHECK(lines[0].find("cannot connect: refused; trying again in") != std::string::npos);
    CHECK(lines[1].find("cannot connect: refused; 5 times in 1 s; trying again in") != std::string::npos);
    CHECK(lines.back().find(" times in 1 h 5") != std::string::npos);
    test.become_ready();
    REQUIRE(test.connection->state() == ConnectionState::ready);
    CHECK(
        warnings(*test.runtime).back().find("reachable again after 2 h; failed attempts to connect: ") !=
        std::string::npos);
    CHECK(warnings(*test.runtime).size() == times.size() + 1);
}

TEST_CASE("a server that ends each connection at once makes few lines", "[log]")
{
    ConnectionFixture test;
    test.connection->open();
    test.runtime->run_ready();
    auto const end = test.runtime->now() + 5min;
    while (test.runtime->now() < end) {
        test.become_ready();
        auto const count = test.streams.count();
        test.cut();
        test.connection->open();
        REQUIRE(test.runtime->run_while_not([&] { return test.streams.count() > count; }, 10s));
    }
    CHECK(warnings(*test.runtime).size() == 4);
    CHECK(test.runtime->logged("lost the connection: the server closed the connection") > 1000);
}

TEST_CASE("a connection that worked is back soon, one that breaks at once is not tried in a hot loop")
{
    OpenConnection test;
    test.runtime->run_for(10s);
    test.cut();
    auto before = test.runtime->now();
    REQUIRE(test.runtime->run_while_not([&] { return test.streams.count() == 2; }, 25ms));

    for (int i = 0; i < 50; ++i) {
        test.become_ready();
        REQUIRE(test.connection->ready());
        test.cut();
        auto const count = test.streams.count();
        // soon enough for a lease of a second, however often it happens
        REQUIRE(test.runtime->run_while_not([&] { return test.streams.count() > count; }, 100ms));
    }
    CHECK(test.runtime->now() - before > 50 * 50ms);
}

TEST_CASE("pauses grow where no lease depends on a connection that is ended at once, up to a minute")
{
    ConnectionFixture test({}, {.carries_leases = false});
    test.open();
    auto last = 0ms;
    for (int i = 0; i < 12; ++i) {
        auto const count = test.streams.count();
        auto const lost_at = test.runtime->now();
        test.cut();
        test.runtime->run_while_not([&] { return test.streams.count() > count; }, 61s);
        REQUIRE(test.streams.count() == count + 1);
        last = std::chrono::duration_cast<std::chrono::milliseconds>(test.runtime->now() - lost_at);
        CHECK(last <= 60s);
        test.become_ready();
    }
    CHECK(last >= 30s);
    // one that lasts counts as the first again
    test.runtime->run_for(2s);
    auto const count = test.streams.count();
    test.cut();
    test.runtime->run_for(100ms);
    CHECK(test.streams.count() == count + 1);
}

TEST_CASE("a connection without requests comes back by itself")
{
    OpenConnection test;
    test.states.clear();
    test.cut();
    test.runtime->run_for(100ms);
    test.become_ready();
    CHECK(
        test.states == std::vector{ConnectionState::backing_off, ConnectionState::connecting, ConnectionState::ready});
}

TEST_CASE("a password that became wrong stops the connection at its next login")
{
    RedisConfig config;
    config.password = "secret";
    ConnectionFixture test(config);
    test.open();
    auto const waiting = test.ask(Command("PING"));
    test.runtime->run_ready();
    test.cut();
    auto const next = test.ask(Command("PING"));
    test.runtime->run_for(100ms);
    test.stream().accept();
    test.send("-WRONGPASS invalid username-password pair\r\n");
    REQUIRE(waiting->has_value());
    CHECK((*waiting)->delivery == Delivery::unknown);
    REQUIRE(next->has_value());
    CHECK((*next)->delivery == Delivery::not_sent);
    CHECK((*next)->fatal);
    CHECK(test.connection->state() == ConnectionState::failed);
}

TEST_CASE("an error that ends a working connection is never fatal")
{
    OpenConnection test;
    test.stream().end({make_error_code(errc::tls_failed), "bad record", true});
    test.runtime->run_ready();
    CHECK(test.connection->state() == ConnectionState::backing_off);
}

TEST_CASE("news of the server ends the pause before the next attempt, and disturbs nothing else")
{
    OpenConnection test;
    test.connection->hurry();
    test.runtime->run_ready();
    CHECK(test.connection->ready());
    test.cut();
    test.connection->hurry();
    test.runtime->run_ready();
    CHECK(test.connection->state() == ConnectionState::connecting);
    test.connection->hurry();
    test.runtime->run_ready();
    REQUIRE(test.streams.count() == 2);
    test.stream().accept({asio::error::connection_refused, {}, false});
    test.runtime->run_ready();
    CHECK(test.connection->state() == ConnectionState::backing_off);
    auto const before = test.runtime->now();
    test.connection->hurry();
    test.become_ready();
    CHECK(test.connection->ready());
    CHECK(test.runtime->now() == before);
}

} // namespace tenure::test
