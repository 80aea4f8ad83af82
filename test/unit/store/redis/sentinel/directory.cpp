// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Whom the store asks for the master, when, and who is told.
#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include "store/redis/sentinel/master_resolver.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using redis::ConnectionState;
using redis::MasterResolver;
using redis::SentinelEntry;
using redis::ServerAddress;
using redis::resp::Type;
using redis::resp::Value;

namespace
{

Value texts(std::vector<std::string> const& words, Type type = Type::array)
{
    std::vector<Value> elements;
    for (auto const& word : words)
        elements.push_back(Value::text(word));
    return Value::list(type, std::move(elements));
}

/** The masters that a directory has reported. */
struct Follower {
    explicit Follower(MasterResolver& directory)
    {
        directory.follow(alive, [this](ServerAddress const& address) { told.push_back(address); });
    }
    std::shared_ptr<int> alive = std::make_shared<int>();
    std::vector<ServerAddress> told;
};

/** A directory whose sentinels are played by the test: one on each port from 26379 on. */
struct DirectorySetting : Immovable {
    explicit DirectorySetting(std::size_t configured = 3)
    {
        MasterResolver::Settings settings;
        settings.name = "redis+sentinel://...";
        settings.master_name = "mymaster";
        settings.connect_timeout = 2s;
        for (std::size_t i = 0; i < configured; ++i)
            settings.sentinels.push_back(sentinel(i));
        directory =
            std::make_shared<MasterResolver>(runtime, std::move(settings), [this](ServerAddress const& address) {
                made.emplace_back(address, std::make_shared<FakeConnection>(*runtime, to_string(address)));
                return made.back().second;
            });
    }
    ~DirectorySetting()
    {
        directory->close();
        runtime->run_ready();
        runtime->discard();
    }

    [[nodiscard]] static ServerAddress sentinel(std::size_t index) { return {"s" + std::to_string(index), 26379}; }
    [[nodiscard]] static ServerAddress server(std::uint16_t port) { return {"10.0.0.1", port}; }

    void find()
    {
        directory->find([this](MasterResolver::Answer const& answer) { answers.push_back(answer); });
        runtime->run_ready();
    }

    /** The newest connection to a sentinel that is still open and was asked, or subscribes; null: none. */
    [[nodiscard]] FakeConnection* open_to(std::size_t index, bool subscribing = false)
    {
        for (auto entry = made.rbegin(); entry != made.rend(); ++entry)
            if (entry->first == sentinel(index) && !entry->second->closed && entry->second->opened == subscribing)
                return entry->second.get();
        return nullptr;
    }
    [[nodiscard]] std::size_t asked() const
    {
        return static_cast<std::size_t>(std::ranges::count_if(
            made, [](auto const& entry) { return !entry.second->closed && !entry.second->opened; }));
    }

    /** A sentinel answers; `others` is what it knows of the other sentinels. */
    void answer(
        std::size_t index, ServerAddress const& master, std::string const& epoch = "1",
        std::vector<SentinelEntry> const& others = {})
    {
        auto* const connection = open_to(index);
        REQUIRE(connection != nullptr);
        REQUIRE(connection->sent.size() == 4);
        CHECK(connection->sent[2].words == std::vector<std::string>{"SENTINEL", "MASTER", "mymaster"});
        auto const port = std::to_string(master.port);
        std::vector<Value> entries;
        for (auto const& other : others)
            entries.push_back(texts(
                {"ip", other.address.host, "port", std::to_string(other.address.port), "runid", other.id}, Type::map));
        auto const count = others.empty() ? "2" : std::to_string(others.size());
        connection->answer(Value::text("id" + std::to_string(index)));
        connection->answer(texts({master.host, port}));
        connection->answer(texts(
            {"ip", master.host, "port", port, "flags", "master", "config-epoch", epoch, "num-other-sentinels", count},
            Type::map));
        connection->answer(Value::list(Type::array, std::move(entries)));
        runtime->run_ready();
    }

    /** Two of three answer: the directory knows the master, and listens to one of the two. */
    void settle(ServerAddress const& master, std::string const& epoch = "1")
    {
        find();
        answer(0, master, epoch);
        answer(1, master, epoch);
    }

    [[nodiscard]] FakeConnection& watched()
    {
        for (std::size_t i = 0; i < 3; ++i)
            if (auto* const connection = open_to(i, true))
                return *connection;
        throw std::runtime_error("no sentinel is listened to");
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::vector<std::pair<ServerAddress, std::shared_ptr<FakeConnection>>> made;
    std::shared_ptr<MasterResolver> directory;
    std::vector<MasterResolver::Answer> answers;
};

Value news(std::string const& message)
{
    return texts({"message", "+switch-master", message}, Type::push);
}

} // namespace

TEST_CASE("nobody is asked before somebody wants to know, and then all sentinels at once", "[redis][sentinel]")
{
    DirectorySetting test;
    test.runtime->run_for(1min);
    CHECK(test.made.empty());
    test.find();
    CHECK(test.asked() == 3);
    // a search that begins meanwhile gets the same answer
    test.find();
    CHECK(test.asked() == 3);
    test.answer(0, test.server(1));
    CHECK(test.answers.empty());
    test.answer(2, test.server(1));
    REQUIRE(test.answers.size() == 2);
    CHECK(std::get<ServerAddress>(test.answers[0]) == test.server(1));
    CHECK(std::get<ServerAddress>(test.answers[1]) == test.server(1));
    // the connections of the round are gone, the slow one's too
    CHECK(test.asked() == 0);
}

TEST_CASE("a question that was forgotten is not answered", "[redis][sentinel]")
{
    DirectorySetting test;
    auto const question = test.directory->find([](MasterResolver::Answer const&) { FAIL("it was forgotten"); });
    test.find();
    test.directory->forget(question);
    test.answer(0, test.server(1));
    test.answer(1, test.server(1));
    CHECK(test.answers.size() == 1);
}

TEST_CASE("sentinels that cannot be reached are told within the time of a connection", "[redis][sentinel]")
{
    DirectorySetting test;
    test.find();
    for (std::size_t i = 0; i < 2; ++i) {
        test.open_to(i)->become(ConnectionState::backing_off);
        test.runtime->run_ready();
    }
    CHECK(test.answers.empty());
    test.runtime->run_for(1600ms);
    REQUIRE(test.answers.size() == 1);
    auto const error = std::get<redis::StreamError>(test.answers[0]);
    CHECK(error.code == errc::store_unavailable);
    CHECK_FALSE(error.fatal);
    CHECK_THAT(error.detail, ContainsSubstring(" s0:26379: not yet") && ContainsSubstring("s2:26379"));
}

TEST_CASE("sentinels that one names are asked where those that were configured are too few", "[redis][sentinel]")
{
    DirectorySetting test(1);
    std::vector<SentinelEntry> const others{{test.sentinel(1), "id1"}, {test.sentinel(2), "id2"}};
    test.find();
    CHECK(test.asked() == 1);
    test.answer(0, test.server(1), "5", others);
    // it may be the one that was cut off
    CHECK(test.answers.empty());
    REQUIRE(test.asked() == 3);
    test.answer(1, test.server(2), "6", others);
    REQUIRE(test.answers.size() == 1);
    CHECK(std::get<ServerAddress>(test.answers[0]) == test.server(2));
    // from now on they are asked with the first
    test.find();
    CHECK(test.asked() == 3);
}

TEST_CASE("a server that is no sentinel is told, and so is a sentinel that refuses", "[redis][sentinel]")
{
    auto const refused = [](std::string const& words) {
        DirectorySetting test(1);
        test.find();
        for (int i = 0; i < 4; ++i)
            test.open_to(0)->answer(Value::error(words));
        test.runtime->run_ready();
        REQUIRE(test.answers.size() == 1);
        return std::get<redis::StreamError>(test.answers[0]);
    };
    auto const server = refused("ERR unknown command 'SENTINEL', with args beginning with: 'MASTER' ");
    CHECK(server.code == errc::wrong_server);
    CHECK(server.fatal);
    CHECK_THAT(server.detail, ContainsSubstring("is no sentinel (ERR unknown command 'SENTINEL')"));
    auto const permission = refused("NOPERM this user has no permissions to run the 'sentinel|master' command");
    CHECK(permission.code == errc::permission_denied);
    CHECK(permission.fatal);
    CHECK_THAT(permission.detail, ContainsSubstring("+sentinel|master"));
    CHECK_FALSE(refused("BUSY with something").fatal);
    auto const unknown = refused("ERR No such master with that name");
    CHECK(unknown.code == errc::store_refused);
    CHECK_FALSE(unknown.fatal);
}

TEST_CASE("news of another master is looked into, and followers are told what the sentinels say", "[redis][sentinel]")
{
    DirectorySetting test;
    Follower follower(*test.directory);
    auto const connection = std::make_shared<FakeConnection>(*test.runtime, "");
    test.directory->follow(connection, [&](ServerAddress const&) { connection->hurry(); });
    test.settle(test.server(1));
    follower.told.clear();
    connection->hurried = 0;

    auto& watched = test.watched();
    watched.become(ConnectionState::ready);
    REQUIRE(watched.sent.size() == 1);
    CHECK(watched.sent[0].words == std::vector<std::string>{"SUBSCRIBE", "+switch-master"});
    watched.answer(texts({"subscribe", "+switch-master"}, Type::push));
    test.runtime->run_ready();
    // a change before that was not heard
    CHECK(test.asked() == 3);
    test.answer(0, test.server(1));
    test.answer(1, test.server(1));
    CHECK(follower.told.empty());
    CHECK(connection->hurried == 0);

    // of others, and of what is known already
    watched.push(news("another 10.0.0.1 1 10.0.0.1 2"));
    watched.push(news("mymaster 10.0.0.1 2 10.0.0.1 1"));
    watched.push(news("nonsense"));
    CHECK(test.asked() == 0);

    watched.push(news("mymaster 10.0.0.1 1 10.0.0.1 2"));
    CHECK(test.asked() == 3);
    // the first two do not know yet: asked again, soon and not for ever
    test.answer(0, test.server(1));
    test.answer(1, test.server(1));
    CHECK(follower.told.empty());
    CHECK(test.asked() == 0);
    test.runtime->run_for(60ms);
    REQUIRE(test.asked() == 3);
    test.answer(0, test.server(1));
    test.answer(2, test.server(2), "2");
    CHECK(follower.told == std::vector{test.server(2)});
    CHECK(connection->hurried == 1);
    test.runtime->run_for(1min);
    CHECK(test.asked() == 0);
}

TEST_CASE("a hint that the sentinels do not bear out is dropped", "[redis][sentinel]")
{
    DirectorySetting test;
    Follower follower(*test.directory);
    test.settle(test.server(1));
    follower.told.clear();
    auto& watched = test.watched();
    watched.become(ConnectionState::ready);
    watched.answer(texts({"subscribe", "+switch-master"}, Type::push));
    test.runtime->run_ready();
    watched.push(news("mymaster 10.0.0.1 1 10.0.0.1 9"));
    int rounds = 0;
    for (; rounds < 100; ++rounds) {
        if (!test.runtime->run_while_not([&] { return test.asked() == 3; }, 20s))
            break;
        test.answer(0, test.server(1));
        test.answer(1, test.server(1));
    }
    CHECK(rounds >= 2);
    CHECK(rounds < 10);
    CHECK(follower.told.empty());
}

TEST_CASE("where no sentinel lets us listen they are asked now and then", "[redis][sentinel]")
{
    DirectorySetting test;
    test.settle(test.server(1));
    auto const refuse = [&] {
        auto& watched = test.watched();
        watched.become(ConnectionState::ready);
        watched.answer(Value::error("NOPERM this user has no permissions to access one of the channels"));
        test.runtime->run_ready();
    };
    refuse();
    CHECK(test.runtime->logged("grant the sentinels' user +subscribe and &+switch-master") == 1);
    // the others may let us
    REQUIRE(test.runtime->run_while_not([&] { return test.asked() == 3; }, 2s));
    test.answer(0, test.server(1));
    test.answer(1, test.server(1));
    refuse();
    REQUIRE(test.runtime->run_while_not([&] { return test.asked() == 3; }, 2s));
    test.answer(1, test.server(1));
    test.answer(2, test.server(1));
    refuse();
    CHECK(test.runtime->logged("+subscribe") == 1);
    REQUIRE(test.runtime->run_while_not([&] { return test.asked() == 3; }, 2s));
    Follower follower(*test.directory);
    test.answer(0, test.server(1));
    test.answer(1, test.server(1));
    CHECK_THROWS(test.watched());
    test.runtime->run_for(9s);
    CHECK(test.asked() == 0);
    test.runtime->run_for(2s);
    REQUIRE(test.asked() == 3);
    test.answer(0, test.server(2), "2");
    test.answer(1, test.server(2), "2");
    CHECK(follower.told == std::vector{test.server(2)});
}

TEST_CASE("sentinels that end each subscription at once are asked with growing pauses", "[redis][sentinel]")
{
    DirectorySetting test;
    test.settle(test.server(1));
    std::vector<std::chrono::milliseconds> pauses;
    for (int i = 0; i < 8; ++i) {
        auto& watched = test.watched();
        watched.become(ConnectionState::ready);
        watched.become(ConnectionState::backing_off);
        auto const lost_at = test.runtime->now();
        REQUIRE(test.runtime->run_while_not([&] { return test.asked() == 3; }, 11s));
        pauses.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(test.runtime->now() - lost_at));
        test.answer(0, test.server(1));
        test.answer(1, test.server(1));
    }
    CHECK(pauses.front() <= 1s);
    CHECK(std::ranges::is_sorted(pauses));
    CHECK(pauses.back() >= 9s);
}

TEST_CASE("failed attempts to reach a lost sentinel do not postpone the search for another", "[redis][sentinel]")
{
    DirectorySetting test;
    test.settle(test.server(1));
    auto& watched = test.watched();
    watched.become(ConnectionState::ready);
    for (int attempt = 0; attempt < 12; ++attempt) {
        watched.become(ConnectionState::backing_off);
        test.runtime->run_for(100ms);
    }
    CHECK(test.asked() == 3);
}

TEST_CASE("another sentinel is listened to when the one that was goes away", "[redis][sentinel]")
{
    DirectorySetting test;
    test.settle(test.server(1));
    auto& first = test.watched();
    first.become(ConnectionState::ready);
    first.answer(texts({"subscribe", "+switch-master"}, Type::push));
    test.runtime->run_ready();
    auto const gone = test.open_to(0, true) != nullptr ? 0U : 1U;
    test.answer(0, test.server(1));
    test.answer(1, test.server(1));
    CHECK_FALSE(first.closed);

    first.become(ConnectionState::backing_off);
    REQUIRE(test.runtime->run_while_not([&] { return test.asked() == 3; }, 2s));
    test.open_to(gone)->become(ConnectionState::backing_off);
    test.answer(1 - gone, test.server(1));
    test.answer(2, test.server(1));
    CHECK(first.closed);
    CHECK(test.open_to(gone, true) == nullptr);
    CHECK_NOTHROW(test.watched());
}

TEST_CASE("after close nobody is asked any more, and whoever asks is told", "[redis][sentinel]")
{
    DirectorySetting test;
    test.settle(test.server(1));
    test.find();
    test.directory->close();
    CHECK(std::ranges::all_of(test.made, [](auto const& entry) { return entry.second->closed; }));
    auto const before = test.made.size();
    auto const told = test.answers.size();
    test.find();
    REQUIRE(test.answers.size() > told);
    CHECK(std::get<redis::StreamError>(test.answers.back()).code == errc::closed);
    test.runtime->run_for(1min);
    CHECK(test.made.size() == before);
    CHECK(test.runtime->timers() == 0);
}
