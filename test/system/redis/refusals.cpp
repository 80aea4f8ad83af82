// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Every word with which a server says "not now": none costs a lease while it is valid, none is final, and the last one
// is shown to the user. The words that a real server can be made to say are also in server_errors.cpp.
#include "harness/documented.hpp"
#include "harness/eventually.hpp"
#include "system/support/running_store.hpp"
#include "system/support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <future>
#include <list>
#include <string>
#include <tuple>
#include <utility>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto refused_ttl = 3000ms;

// as Redis 7.0.15 and Valkey 8 say them
constexpr auto passing = {
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "CLUSTERDOWN The cluster is down",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "NOREPLICAS Not enough good replicas to write.",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    "OOM command not allowed when used memory > 'maxmemory'.",
};

constexpr auto final = {
    std::pair{"MOVED 3999 127.0.0.1:6381", errc::wrong_server},
    std::pair{"CROSSSLOT Keys in request don't hash to the same slot", errc::wrong_server},
    std::pair{"NOAUTH Authentication required.", errc::authentication_failed},
    std::pair{
        "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand", errc::permission_denied},
    std::pair{"WRONGTYPE Operation against a key holding the wrong kind of value", errc::key_conflict},
    std::pair{"ERR value is not an integer or out of range", errc::key_conflict},
    std::pair{"ERR unknown command 'EVALSHA', with args beginning with: ", errc::wrong_server},
};

/** A lease that is held on a server, which then says this to everything but logins. */
struct RefusedScene {
    explicit RefusedScene(std::string said)
        : words(std::move(said))
        , lease(RunningStore::acquire(running.lock("held", refused_ttl)))
        , fired(lease.token())
    {
        server.behave([this](Words const& request, std::string const& good) {
            return Answer{purpose_of(request) == Purpose::login ? good : "-" + words + "\r\n"};
        });
        renewals_failed = running.store().statistics().renewals_failed;
        wanted = running.lock("wanted", refused_ttl).async_acquire({.wait = 600ms}, as_future);
    }
    std::string words;
    ScriptedServer server;
    RunningStore running{server.url()};
    Lease lease;
    FiredAt fired;
    std::uint64_t renewals_failed = 0;
    std::future<std::tuple<error_code, Lease>> wanted;
};

} // namespace

TEST_CASE("transient server errors cost no lease, and are reported if they persist")
{
    std::list<RefusedScene> scenes;
    for (auto const* words : passing)
        scenes.emplace_back(words);
    for (auto& scene : scenes) {
        CAPTURE(scene.words);
        auto const error = std::get<0>(soon(std::move(scene.wanted)));
        CHECK(error == errc::store_refused);
        CHECK(error == condition::try_later);
        CHECK(documented(error.message()));
        // between two refusals a renewal may find the connection still being made
        CHECK(documented(scene.running.store().diagnostics().last_detail));
        std::string detail;
        CHECK(eventually([&] {
            detail = scene.running.store().diagnostics().last_detail;
            return detail.find(scene.words) != std::string::npos;
        }));
        CHECK(documented(detail));
        // a renewal was refused, and the lease is held all the same
        CHECK(eventually([&] { return scene.running.store().statistics().renewals_failed > scene.renewals_failed; }));
        CHECK(scene.lease.valid());
        CHECK_FALSE(scene.lease.token().cancelled());
    }
    for (auto& scene : scenes)
        scene.server.behave();
    for (auto& scene : scenes) {
        CAPTURE(scene.words);
        auto const valid_until = scene.lease.valid_until();
        CHECK(eventually([&] { return scene.lease.valid_until() > valid_until; }));
        CHECK(RunningStore::acquire_error(scene.running.lock("wanted", refused_ttl)) == error_code{});
        CHECK_FALSE(scene.fired.wait(0ms));
        CHECK(RunningStore::release(scene.lease) == ReleaseOutcome::released);
    }
}

TEST_CASE("server errors that need a person are reported at once, and leases stay valid meanwhile")
{
    for (auto const& [words, expected] : final) {
        CAPTURE(words);
        auto const begin = std::chrono::steady_clock::now();
        RefusedScene scene{words};
        auto const error = std::get<0>(soon(std::move(scene.wanted)));
        CHECK(std::chrono::steady_clock::now() - begin < 500ms + 5s);
        CHECK(error == expected);
        CHECK(error == condition::misconfigured);
        CHECK(documented(error.message()));
        CHECK(documented(scene.running.store().diagnostics().last_detail));
        CHECK(scene.lease.valid());
        scene.server.behave();
        CHECK(RunningStore::release(scene.lease) == ReleaseOutcome::released);
    }
}

TEST_CASE("a server without scripts or HELLO is reported as too old")
{
    ScriptedServer server;
    server.behave([](Words const& request, std::string const&) {
        return Answer{"-ERR unknown command '" + request.at(0) + "', with args beginning with: \r\n"};
    });
    RunningStore running{server.url()};
    auto const error = RunningStore::acquire_error(running.lock("wanted", refused_ttl));
    CHECK(error == errc::wrong_server);
    CHECK(documented(error.message()));
    CHECK(documented(running.store().diagnostics().last_detail));
}

TEST_CASE("a refused login is reported in words, and no other request is sent")
{
    auto const& [words, expected] = GENERATE(values<std::pair<std::string, errc>>({
        {"WRONGPASS invalid username-password pair or user is disabled.", errc::authentication_failed},
        {"NOAUTH HELLO must be called with the client already authenticated.", errc::authentication_failed},
        {"DENIED Redis is running in protected mode", errc::permission_denied},
        {"LOADING Redis is loading the dataset in memory", errc::store_refused},
        {"ERR max number of clients reached", errc::store_refused},
    }));
    CAPTURE(words);
    ScriptedServer server;
    server.behave([answer = "-" + words + "\r\n"](Words const&, std::string const&) { return Answer{answer}; });
    RunningStore running{"redis://worker:very-secret@127.0.0.1:" + std::to_string(server.port())};
    auto const error = RunningStore::acquire_error(running.lock("wanted", refused_ttl), {.wait = 500ms});
    CHECK(error == expected);
    CHECK(documented(error.message()));
    CHECK(documented(running.store().diagnostics().last_detail));
    CHECK(server.requests(Purpose::claim) == 0);
    CHECK(running.log().find("very-secret") == std::string::npos);
}

TEST_CASE("a missing database is reported")
{
    ScriptedServer server;
    server.behave([](Words const& request, std::string const& good) {
        return Answer{request.at(0) == "SELECT" ? "-ERR DB index is out of range\r\n" : good};
    });
    RunningStore running{server.url() + "/99"};
    auto const error = RunningStore::acquire_error(running.lock("wanted", refused_ttl));
    CHECK(error == errc::wrong_database);
    CHECK(documented(error.message()));
    CHECK(documented(running.store().diagnostics().last_detail));
    CHECK(server.requests(Purpose::claim) == 0);
}

TEST_CASE("a ttl that a round trip uses up is reported with both numbers, and no key stays held")
{
    ScriptedServer server;
    server.behave([](Words const& request, std::string const& good) {
        Answer answer{good};
        if (purpose_of(request) == Purpose::claim)
            answer.delay = 300ms;
        return answer;
    });
    RunningStore running{server.url()};
    auto const error = RunningStore::acquire_error(running.lock("wanted", 200ms), {.wait = 1000ms});
    CHECK(error == errc::ttl_too_short);
    CHECK(error == condition::misconfigured);
    CHECK(documented(error.message()));
    auto const detail = running.store().diagnostics().last_detail;
    CHECK_THAT(detail, ContainsSubstring("the ttl is 200 ms"));
    CHECK(documented(detail));
    CHECK(eventually([&] { return !server.value("wanted"); }));
    CHECK(running.store().statistics().given_back >= 1);
}

TEST_CASE("keys that never become free, and an unavailable store, are reported")
{
    ScriptedServer server;
    server.behave([](Words const& request, std::string const& good) {
        if (request.at(0) == "EXEC")
            return Answer{"*2\r\n_\r\n" + bulk("1700000000000000")};
        bool const surveys = request.at(0) == "EVALSHA" && purpose_of(request) == Purpose::claim;
        return Answer{surveys ? "*3\r\n:-1\r\n:-1\r\n:1\r\n" : good};
    });
    RunningStore running{server.url()};
    auto const error = RunningStore::acquire_error(running.lock("wanted", refused_ttl));
    CHECK(error == errc::key_conflict);
    CHECK(documented(error.message()));

    RunningStore away{"redis://127.0.0.1:1"};
    auto const unreachable = RunningStore::acquire_error(away.lock("wanted", refused_ttl), {.wait = 300ms});
    CHECK(unreachable == errc::store_unavailable);
    CHECK(documented(unreachable.message()));
    CHECK(documented(away.store().diagnostics().last_detail));

    RunningStore held{"memory://"};
    auto lease = RunningStore::acquire(held.lock("wanted", refused_ttl));
    auto const busy = RunningStore::acquire_error(held.lock("wanted", refused_ttl), {.wait = 100ms});
    CHECK(busy == errc::timed_out);
    CHECK(documented(busy.message()));
}
