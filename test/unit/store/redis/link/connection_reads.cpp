// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// When a connection waits for what comes next.
#include "connection_fixture.hpp"

#include "runtime/handler_batch.hpp"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <stdexcept>

namespace tenure::test
{

TEST_CASE("where nothing is awaited, the handler of a user that an answer makes ready does not wait for the next read")
{
    ConnectionFixture test;
    test.connection->on_push(nullptr);
    test.open();
    test.stream().at_once = 1'000'000;
    int called = 0;
    bool read_before = true;
    std::function<void()> user = [] {};
    auto const answer_one = [&] {
        test.connection->execute(Command("GET", "key"), test.runtime->now() + 1min, [&](Outcome const&) {
            Task task = [&] {
                ++called;
                read_before = test.stream().reading();
                user();
            };
            CHECK(HandlerBatch::take(task));
        });
        test.runtime->run_ready();
        CHECK(test.stream().reading());
        HandlerBatch batch(*test.runtime);
        test.send("+OK\r\n");
        CHECK(called == 0);
        batch.run();
    };

    SECTION("it reads afterwards")
    {
        answer_one();
        test.runtime->run_ready();
        CHECK(called == 1);
        CHECK_FALSE(read_before);
        CHECK(test.stream().reading());
        // as the end of the stream shows
        test.cut();
        CHECK(test.states.back() != ConnectionState::ready);
    }
    SECTION("it reads as soon as the handler has asked for something")
    {
        ConnectionFixture::OutcomePtr outcome;
        bool reads = false;
        user = [&] {
            outcome = test.ask(Command("PING"));
            reads = test.stream().reading();
        };
        answer_one();
        CHECK(called == 1);
        CHECK_FALSE(read_before);
        CHECK(reads);
        test.send("+PONG\r\n");
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->delivery == Delivery::answered);
    }
    SECTION("it reads also where the handler throws")
    {
        user = [] { throw std::runtime_error("a user's"); };
        CHECK_THROWS_AS(answer_one(), std::runtime_error);
        test.runtime->run_ready();
        CHECK(test.stream().reading());
    }
    SECTION("but it reads at once while another answer is awaited")
    {
        auto const other = test.ask(Command("GET", "other"));
        static_cast<void>(other);
        test.connection->execute(Command("GET", "key"), test.runtime->now() + 1min, [](Outcome const&) {});
        test.runtime->run_ready();
        HandlerBatch batch(*test.runtime);
        Task only = [&] { read_before = test.stream().reading(); };
        CHECK(HandlerBatch::take(only));
        test.send("+OK\r\n");
        batch.run();
        CHECK(read_before);
        CHECK(test.stream().reading());
    }
    SECTION("and where it is told of pushes")
    {
        test.connection->on_push([](redis::resp::Value const&) {});
        answer_one();
        CHECK(called == 1);
        CHECK(read_before);
    }
}

} // namespace tenure::test
