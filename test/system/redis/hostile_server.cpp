// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Servers that send what no server may send: what becomes of the lease that is held meanwhile, what its holder is told,
// and that all is well again as soon as the server is.
#include "harness/documented.hpp"
#include "harness/eventually.hpp"
#include "system/support/bounded_worker.hpp"
#include "system/support/running_store.hpp"
#include "system/support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace
{

constexpr auto hostile_ttl = 2000ms;
/// more than a reply's limit, the stack of a parser and the buffers of a few connections
constexpr std::size_t most_growth = 4096;

struct Lie {
    std::string name;
    ScriptedServer::Behaviour behaviour;
    errc error = errc::protocol_error;
    /// in the words that the user gets
    std::string words;
    bool drops = true;
};

/** The same answer to everything but logins. */
ScriptedServer::Behaviour always(Answer const& answer)
{
    return [answer](Words const& request, std::string const& good) {
        return purpose_of(request) == Purpose::login ? Answer{good} : answer;
    };
}

/** This answer to logins; connections that are logged in are reset. */
ScriptedServer::Behaviour at_login(Answer const& answer)
{
    return [answer](Words const& request, std::string const&) {
        return purpose_of(request) == Purpose::login ? answer : Answer{"", Answer::Then::reset};
    };
}

/** One after the other, for replies that are well formed and of no use. */
ScriptedServer::Behaviour in_turn(std::vector<std::string> answers)
{
    auto const next = std::make_shared<std::atomic<std::size_t>>(0);
    return [answers = std::move(answers), next](Words const& request, std::string const& good) {
        return Answer{purpose_of(request) == Purpose::login ? good : answers.at((*next)++ % answers.size())};
    };
}

std::string many(std::size_t count, std::string const& text)
{
    std::string result;
    for (std::size_t i = 0; i < count; ++i)
        result += text;
    return result;
}

std::vector<Lie> lies()
{
    using Then = Answer::Then;
    auto const garbled = errc::protocol_error;
    return {
        {"a length that is missing", always({"$\r\n"}), garbled, "a length that is no number"},
        {"a negative count", always({"*-2\r\n"}), garbled, "a count that is no number"},
        {"ten gigabytes", always({"$9999999999\r\n"}), garbled, "a reply longer than the limit"},
        {"four billion pairs", always({"%4294967295\r\n"}), garbled, "more elements than the limit allows"},
        {"lists in lists", always({many(10'000, "*1\r\n")}), garbled, "nested too deeply"},
        {"a line without end", always({"+" + std::string(65'536, 'a'), Then::repeat}), garbled,
         "a line that does not end"},
        {"a row of replies without end", always({many(1000, ":1\r\n"), Then::repeat}), garbled, ""},
        {"an endless row of attributes", always({many(1000, "|1\r\n+a\r\n+b\r\n"), Then::repeat}), garbled,
         "the limit"},
        {"half a reply, then a reset", always({"*2\r\n:0\r\n$16\r\n170000", Then::reset}), errc::store_unavailable,
         "closed the connection"},
        {"replies of the wrong type",
         in_turn(
             {":1\r\n", "+OK\r\n", "$-1\r\n", "_\r\n", "*0\r\n", "#t\r\n", ",1.5\r\n", "(123456789012345678901\r\n",
              "=7\r\ntxt:abc\r\n", "%1\r\n+a\r\n+b\r\n", "~1\r\n:1\r\n", "$3\r\nabc\r\n"}),
         garbled, "malformed reply"},
        {"a slot that was not asked for", always({"*2\r\n:5\r\n$2\r\n17\r\n"}), garbled, "malformed reply"},
        {"a fencing token that is none",
         in_turn({"*2\r\n:0\r\n$2\r\n-1\r\n", "*2\r\n:0\r\n$20\r\n18446744073709551616\r\n"}), garbled,
         "malformed reply"},
        {"another protocol", at_login({"HTTP/1.1 400 Bad Request\r\n\r\n"}), garbled,
         "a byte that starts no reply of the Redis protocol"},
        {"a login that is no login", at_login({"+OK\r\n"}), garbled, "unexpected reply to HELLO"},
        {"a login without end", at_login({"+" + std::string(65'536, 'a'), Then::repeat}), garbled,
         "a line that does not end"},
        {"nothing", always({""}), errc::store_unavailable, "wanted: no answer within", false},
        {"an error that nobody knows", always({"-ODD things happen\r\n"}), errc::store_refused, "ODD things happen",
         false},
    };
}

struct Scene {
    explicit Scene(Lie told)
        : lie(std::move(told))
    {
    }
    Lie lie;
    ScriptedServer server;
    BoundedWorker worker{server.url(), hostile_ttl, 900ms};
    std::size_t peak = 0;
    std::uint64_t accepted = 0;
};

void check_lie(Scene& scene)
{
    auto& worker = scene.worker;
    CAPTURE(scene.lie.name);
    auto const lost = worker.says("lost");
    INFO(worker.output());
    REQUIRE(lost);
    // malformed replies never prove a loss, and the notice is kept
    CHECK_THAT(*lost, EndsWith(" expired"));
    CHECK(std::stoll(*lost) >= 0);
    auto const failed = worker.says("failed");
    REQUIRE(failed);
    CHECK(std::stoi(*failed) == static_cast<int>(scene.lie.error));
    auto const detail = failed->substr(failed->find(" | ") + 3);
    CHECK_THAT(detail, ContainsSubstring(scene.lie.words));
    CHECK(documented(make_error_code(scene.lie.error).message()));
    CHECK(documented(detail));
    if (scene.lie.drops)
        CHECK(scene.server.accepted() > scene.accepted);

    scene.server.behave();
    worker.skip();
    CHECK(worker.says("held"));
    if (memory_is_measured)
        CHECK(worker.peak() - scene.peak < most_growth);
    CHECK(worker.end() == ExitStatus{0, 0});
    CHECK_THAT(worker.output(), ContainsSubstring("released released"));
}

/** Fixture: a scripted server, and a lease that it must not end. */
struct HostileTest {
    ScriptedServer server;
    RunningStore running{server.url()};
    Lease lease = RunningStore::acquire(running.lock("wanted", hostile_ttl));
    FiredAt fired{lease.token()};
};

} // namespace

TEST_CASE("a server that lies costs the lease in time, memory that is bounded, and nothing when it is well again")
{
    // all at once: each takes a few seconds of waiting
    std::list<Scene> scenes;
    for (auto& lie : lies())
        scenes.emplace_back(std::move(lie));
    for (auto& scene : scenes) {
        CAPTURE(scene.lie.name);
        REQUIRE(scene.worker.says("held"));
        scene.peak = scene.worker.peak();
        scene.accepted = scene.server.accepted();
        scene.server.behave(scene.lie.behaviour);
    }
    for (auto& scene : scenes)
        check_lie(scene);
}

TEST_CASE("replies that arrive byte by byte are replies")
{
    ScriptedServer server;
    server.behave([](Words const&, std::string const& good) { return Answer{good, Answer::Then::serve, true}; });
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("wanted", hostile_ttl));
    auto const valid_until = lease.valid_until();
    CHECK(eventually([&] { return lease.valid_until() > valid_until + hostile_ttl; }));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK_FALSE(server.value("wanted"));
    CHECK(server.accepted() == 1);
}

TEST_CASE("unsolicited messages have no effect")
{
    ScriptedServer server;
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("wanted", hostile_ttl));
    auto const push = GENERATE(
        as<std::string>{}, ">3\r\n$7\r\nmessage\r\n$9\r\nelsewhere\r\n$2\r\nhi\r\n", ">2\r\n+invalidate\r\n_\r\n",
        ">3\r\n+unsubscribe\r\n+elsewhere\r\n:0\r\n", ">1\r\n:1\r\n", ">0\r\n", "|1\r\n+ttl\r\n:3600\r\n>1\r\n+x\r\n");
    CAPTURE(push);
    server.behave([push](Words const&, std::string const& good) { return Answer{push + good + push}; });
    auto const valid_until = lease.valid_until();
    CHECK(eventually([&] { return lease.valid_until() > valid_until + hostile_ttl; }));
    INFO(running.log());

    CHECK(RunningStore::acquire_error(running.lock("other", hostile_ttl)) == error_code{});
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK(server.accepted() == 1);
}

TEST_CASE("an unsolicited subscription drops the connection and costs no lease")
{
    ScriptedServer server;
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("wanted", hostile_ttl));
    server.say(">3\r\n$9\r\nsubscribe\r\n$3\r\nall\r\n:1\r\n");
    CHECK(eventually([&] { return server.ended() == 1; }));
    CHECK(eventually(
        [&] { return running.log().find("an unsolicited confirmation of a subscription") != std::string::npos; }));
    auto const valid_until = lease.valid_until();
    CHECK(eventually([&] { return lease.valid_until() > valid_until; }));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(HostileTest, "two replies for one request drop the connection, and the second one is ignored")
{
    auto const renewed = lease.valid_until();
    server.behave([](Words const& request, std::string const& good) {
        return Answer{purpose_of(request) == Purpose::login ? good : good + good};
    });
    CHECK(eventually([&] { return server.ended() >= 2; }));
    CHECK(eventually([&] { return running.log().find("an unsolicited reply") != std::string::npos; }));
    // each renewal was answered before its connection was dropped
    CHECK(lease.valid_until() > renewed);
    // the left-over bytes affect no other request
    auto const ended = server.ended();
    server.behave([](Words const& request, std::string const& good) {
        return Answer{purpose_of(request) == Purpose::login ? good + good : good};
    });
    static_cast<void>(RunningStore::acquire_error(running.lock("other", hostile_ttl), {.wait = 500ms}));
    CHECK(eventually([&] { return server.ended() > ended; }));
    server.behave();
    CHECK(eventually([&] { return RunningStore::acquire_error(running.lock("other", hostile_ttl)) == error_code{}; }));
    CHECK(lease.valid());
    CHECK_FALSE(fired.wait(0ms));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(HostileTest, "an answer that belongs to another request is believed once at most")
{
    // the answers of each connection are one behind from the second renewal on: whatever is asked gets the last answer
    auto const late = std::make_shared<std::string>();
    auto const ended = server.ended();
    server.behave([late](Words const& request, std::string const& good) {
        if (purpose_of(request) == Purpose::login) {
            *late = "$1\r\n1\r\n";
            return Answer{good};
        }
        return Answer{std::exchange(*late, good)};
    });
    // the answer of a renewal is no answer to a claim
    auto const error = RunningStore::acquire_error(running.lock("other", hostile_ttl), {.wait = 1000ms});
    CHECK(error == errc::protocol_error);
    CHECK(eventually([&] { return server.ended() > ended; }));
    server.behave();
    CHECK(eventually([&] { return RunningStore::acquire_error(running.lock("other", hostile_ttl)) == error_code{}; }));
    CHECK_FALSE(fired.wait(0ms));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE("a fencing token comes through exactly, whatever its size")
{
    // the first integer that a double has not
    auto const token = GENERATE(
        std::uint64_t{9'007'199'254'740'993}, std::uint64_t{1}, std::uint64_t{9'223'372'036'854'775'808U},
        UINT64_MAX - 1);
    ScriptedServer server;
    server.next_token(token);
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("wanted", hostile_ttl));
    CHECK(lease.fencing_token() == token);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE("a server's error text is shown without terminal controls and line breaks")
{
    ScriptedServer server;
    server.behave(always({"!42\r\nODD \x1b[31mred\x1b[0m\r\n2026 error: all is lost\x07\r\n"}));
    RunningStore running{server.url()};
    CHECK(RunningStore::acquire_error(running.lock("wanted", hostile_ttl), {.wait = 300ms}) == errc::store_refused);
    auto const detail = running.store().diagnostics().last_detail;
    CHECK_THAT(detail, ContainsSubstring("ODD"));
    for (auto const& text : {detail, running.log()})
        for (char const c : text)
            CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
    CHECK(detail.find('\n') == std::string::npos);
    CHECK(running.log().find("\n2026") == std::string::npos);
}
