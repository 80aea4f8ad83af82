// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The order in which a connection writes what waits, and how much of it.
#include "connection_fixture.hpp"
#include "harness/immovable.hpp"

#include "store/redis/link/connection_machine.hpp"
#include "store/redis/link/hedged_link.hpp"
#include "store/redis/link/pace.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

using redis::resp::Urgency;

namespace
{

Command urgent(Urgency urgency, std::string_view name, std::string_view argument = "x")
{
    Command command(name, argument);
    command.set_urgency(urgency);
    return command;
}

/** The names of the commands, in the order in which they were written. */
std::vector<std::string> names(std::string_view bytes)
{
    std::vector<std::string> all;
    while (!bytes.empty()) {
        bytes.remove_prefix(bytes.find('$'));
        auto const size = std::stoul(std::string(bytes.substr(1, bytes.find('\r') - 1)));
        bytes.remove_prefix(bytes.find('\n') + 1);
        all.emplace_back(bytes.substr(0, size));
        auto const next = bytes.find("\r\n*");
        bytes = next == std::string_view::npos ? std::string_view() : bytes.substr(next + 2);
    }
    return all;
}

/** A ready connection whose first write is under way, so that all that follows waits. */
struct BusyConnection : ConnectionFixture {
    BusyConnection()
    {
        open();
        stream().stalled = true;
        first = ask(Command("BUSY"));
        runtime->run_ready();
        REQUIRE(stream().writing());
    }
    /** Lets the writes end, and returns the names of what was written after the first. */
    std::vector<std::string> write_all()
    {
        stream().finish_write({}, stream().unfinished());
        runtime->run_ready();
        (void)stream().take_received();
        if (stream().writing())
            stream().finish_write({}, stream().unfinished());
        runtime->run_ready();
        return names(stream().take_received());
    }
    OutcomePtr first;
};

/** A command of which nothing is left once `wanted` is false. */
struct LateEcho final : redis::resp::LateCommand {
    std::optional<Command> compose(Instant now) override
    {
        composed = now;
        return wanted ? std::optional<Command>(Command("LATE")) : std::nullopt;
    }
    bool wanted = true;
    std::optional<Instant> composed;
};

} // namespace

TEST_CASE("under a load, renewals leave before releases, and releases before claims, each in the order of arrival")
{
    BusyConnection test;
    // more than a new connection may owe at once
    for (std::size_t i = 0; i < redis::Pace::first; ++i)
        (void)test.ask(urgent(Urgency::first, "CLAIM0"));
    (void)test.ask(urgent(Urgency::first, "CLAIM1"));
    (void)test.ask(urgent(Urgency::step, "RELEASE1"));
    (void)test.ask(urgent(Urgency::renewal, "RENEWAL1"));
    (void)test.ask(urgent(Urgency::first, "CLAIM2"));
    (void)test.ask(urgent(Urgency::step, "RELEASE2"));
    (void)test.ask(urgent(Urgency::renewal, "RENEWAL2"));
    auto written = test.write_all();
    CHECK(written.size() < redis::Pace::first + 6);
    written.resize(5);
    CHECK(written == std::vector<std::string>{"RENEWAL1", "RENEWAL2", "RELEASE1", "RELEASE2", "CLAIM0"});
}

TEST_CASE("while everything may leave at once, only renewals overtake")
{
    BusyConnection test;
    (void)test.ask(urgent(Urgency::first, "CLAIM1"));
    (void)test.ask(urgent(Urgency::step, "RELEASE1"));
    (void)test.ask(urgent(Urgency::first, "CLAIM2"));
    (void)test.ask(urgent(Urgency::renewal, "RENEWAL"));
    (void)test.ask(urgent(Urgency::step, "RELEASE2"));
    CHECK(test.write_all() == std::vector<std::string>{"RENEWAL", "CLAIM1", "RELEASE1", "CLAIM2", "RELEASE2"});
}

TEST_CASE("replies belong to the requests in the order in which these were written")
{
    BusyConnection test;
    auto const claim = test.ask(urgent(Urgency::first, "CLAIM"));
    auto const renewal = test.ask(urgent(Urgency::renewal, "RENEWAL"));
    CHECK(test.write_all().size() == 2);
    test.send("+busy\r\n+renewed\r\n+claimed\r\n");
    CHECK(renewal->value().reply.as_string() == "renewed");
    CHECK(claim->value().reply.as_string() == "claimed");
}

TEST_CASE("commands that leave together are parted by nothing, however large they are")
{
    BusyConnection test;
    auto asking = urgent(Urgency::first, "ASKING", std::string(std::size_t{300} * 1024, 'x'));
    asking.leave_with_next();
    (void)test.ask(std::move(asking));
    (void)test.ask(urgent(Urgency::first, "GET"));
    test.stream().finish_write({}, test.stream().unfinished());
    test.runtime->run_ready();
    (void)test.stream().take_received();
    // these come while the first of them is written
    (void)test.ask(urgent(Urgency::renewal, "RENEWAL"));
    test.stream().finish_write({}, test.stream().unfinished());
    test.runtime->run_ready();
    CHECK(names(test.stream().take_received()) == std::vector<std::string>{"ASKING", "GET"});
}

TEST_CASE("a late command is composed when it is written, and not written if nothing of it is wanted")
{
    BusyConnection test;
    auto const wanted = std::make_shared<LateEcho>();
    auto const unwanted = std::make_shared<LateEcho>();
    (void)test.ask(Command(wanted));
    auto const outcome = test.ask(Command(unwanted));
    test.runtime->run_for(1s);
    CHECK_FALSE(wanted->composed);
    unwanted->wanted = false;
    CHECK(test.write_all() == std::vector<std::string>{"LATE"});
    CHECK(wanted->composed == test.runtime->now());
    CHECK(outcome->value().delivery == Delivery::not_sent);
    CHECK(outcome->value().unwanted);
}

TEST_CASE("a request whose owner has given up is not written, even if it was not looked for")
{
    BusyConnection test;
    auto const mark = std::make_shared<RequestMark>();
    auto const outcome = test.ask(Command("CLAIM"), Deadline(test.runtime->now() + 1min, mark));
    mark->ended = true;
    CHECK(test.write_all().empty());
    CHECK(outcome->value().delivery == Delivery::not_sent);
    CHECK_FALSE(outcome->value().error);
}

TEST_CASE("a request progresses when it is written, and when its answer comes")
{
    BusyConnection test;
    auto const mark = std::make_shared<RequestMark>();
    (void)test.ask(Command("CLAIM"), Deadline(test.runtime->now() + 1min, mark));
    test.runtime->run_for(3s);
    CHECK(mark->progressed == Instant{});
    (void)test.write_all();
    CHECK(mark->progressed == test.runtime->now());
    test.runtime->run_for(1s);
    test.send("+OK\r\n+OK\r\n");
    CHECK(mark->progressed == test.runtime->now());
}

TEST_CASE("a request that needs its connection ends with it, and others wait for the next")
{
    BusyConnection test;
    auto renewal = urgent(Urgency::renewal, "RENEWAL");
    renewal.need_connection();
    auto const ended = test.ask(std::move(renewal));
    auto const waits = test.ask(urgent(Urgency::step, "RELEASE"));
    test.runtime->run_for(10s);
    CHECK_FALSE(ended->has_value());
    test.cut();
    REQUIRE(ended->has_value());
    CHECK(ended->value().delivery == Delivery::not_sent);
    CHECK(ended->value().error);
    CHECK_FALSE(waits->has_value());
}

TEST_CASE("a server that owes many replies gets no more requests but renewals")
{
    OpenConnection test;
    for (std::size_t i = 0; i < 3 * redis::Pace::first; ++i)
        (void)test.ask(urgent(Urgency::step, "RELEASE"));
    CHECK(names(test.received()).size() == redis::Pace::first);
    (void)test.ask(urgent(Urgency::first, "CLAIM"));
    CHECK(names(test.received()).empty());
    (void)test.ask(urgent(Urgency::renewal, "RENEWAL"));
    CHECK(names(test.received()) == std::vector<std::string>{"RENEWAL"});
    test.send("+OK\r\n");
    CHECK(names(test.received()).size() == 1);
    // the answer to the last of them shows that the server bears more
    for (std::size_t i = 1; i < redis::Pace::first; ++i)
        test.send("+OK\r\n");
    CHECK(names(test.received()).size() > redis::Pace::first);
}

TEST_CASE("a request that waits for its turn at a server that works is dropped at its deadline, without an error")
{
    OpenConnection test;
    for (std::size_t i = 0; i < redis::Pace::first; ++i)
        (void)test.ask(urgent(Urgency::step, "RELEASE"));
    auto const late = test.ask(urgent(Urgency::first, "CLAIM"), 300ms);
    test.runtime->run_for(299ms);
    CHECK_FALSE(late->has_value());
    test.runtime->run_for(1ms);
    REQUIRE(late->has_value());
    CHECK(late->value().delivery == Delivery::not_sent);
    CHECK_FALSE(late->value().error);
}

TEST_CASE("a blocked server gets no more bytes than it may keep")
{
    OpenConnection test;
    auto const size = std::size_t{1024} * 1024;
    for (int i = 0; i < 40; ++i)
        (void)test.ask(urgent(Urgency::renewal, "RENEWAL", std::string(size, 'x')));
    auto const written = test.received().size();
    CHECK(written >= redis::ConnectionMachine::most_unanswered_bytes);
    CHECK(written <= redis::ConnectionMachine::most_unanswered_bytes + size + 64);
    test.send("+OK\r\n");
    CHECK(test.received().size() > size);
}

TEST_CASE("of many requests whose owners give up one by one, all are answered soon")
{
    BusyConnection test;
    std::vector<std::pair<std::shared_ptr<RequestMark>, ConnectionFixture::OutcomePtr>> all;
    for (int i = 0; i < 2000; ++i) {
        auto const mark = std::make_shared<RequestMark>();
        all.emplace_back(mark, test.ask(Command("CLAIM"), Deadline(test.runtime->now() + 1min, mark)));
    }
    for (auto const& [mark, outcome] : all) {
        mark->ended = true;
        test.connection->drop_abandoned();
    }
    test.runtime->run_for(10ms);
    for (auto const& [mark, outcome] : all)
        REQUIRE(outcome->has_value());
}

namespace
{

/** A link over real connections whose streams are the test's. */
struct LinkTest : Immovable {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeStreams streams;
    std::shared_ptr<redis::HedgedLink> link = std::make_shared<redis::HedgedLink>(
        runtime, redis::connections_to(runtime, RedisConfig(), streams.factory(), {.name = "redis://fake"}));
    int reachable = 0;

    LinkTest()
    {
        link->on_reachable([this] { ++reachable; });
        (void)link->ready();
        runtime->run_ready();
        log_in(0);
        REQUIRE(link->ready());
        REQUIRE(reachable == 1);
    }
    ~LinkTest()
    {
        link->close();
        runtime->run_ready();
        runtime->discard();
    }
    void log_in(std::size_t stream)
    {
        streams[stream].accept();
        runtime->run_ready();
        streams[stream].send(hello_reply);
        runtime->run_ready();
        (void)streams[stream].take_received();
    }
    ConnectionFixture::OutcomePtr ask(Command command)
    {
        auto outcome = std::make_shared<std::optional<Outcome>>();
        link->execute(
            std::move(command), runtime->now() + 1min, [outcome](Outcome result) { *outcome = std::move(result); });
        runtime->run_ready();
        return outcome;
    }
};

} // namespace

TEST_CASE("requests that a silent connection has not written leave by the second one")
{
    LinkTest test;
    test.streams[0].stalled = true;
    auto const written = test.ask(Command("WRITTEN"));
    auto const waits = test.ask(urgent(Urgency::renewal, "WAITS"));
    test.runtime->run_for(1600ms);
    REQUIRE(test.streams.count() == 2);
    CHECK(test.link->connected());
    test.log_in(1);
    test.runtime->run_ready();
    // the login was read and forgotten, and the request came with it
    test.streams[1].send("+OK\r\n");
    test.runtime->run_ready();
    REQUIRE(waits->has_value());
    CHECK(waits->value().delivery == Delivery::answered);
    CHECK_FALSE(written->has_value());
}

TEST_CASE("a second connection is news only while the first one stays silent")
{
    LinkTest test;
    (void)test.ask(Command("ONE"));
    (void)test.ask(Command("TWO"));
    test.runtime->run_for(1600ms);
    REQUIRE(test.streams.count() == 2);
    SECTION("silent")
    {
        test.log_in(1);
        test.runtime->run_for(100ms);
        CHECK(test.reachable == 2);
    }
    SECTION("answering again")
    {
        test.log_in(1);
        test.streams[0].send("+OK\r\n");
        test.runtime->run_for(100ms);
        CHECK(test.reachable == 1);
        // and silent again
        test.runtime->run_for(2s);
        CHECK(test.reachable == 2);
    }
}

TEST_CASE("a server that answers slowly is not silent")
{
    LinkTest test;
    for (int i = 0; i < 20; ++i)
        (void)test.ask(Command("SLOW"));
    for (int i = 0; i < 20; ++i) {
        test.runtime->run_for(900ms);
        test.streams[0].send("+OK\r\n");
        test.runtime->run_ready();
    }
    CHECK(test.streams.count() == 1);
}

} // namespace tenure::test
