// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Sessions of the store on PostgreSQL: logins, certificates, forks, paused servers, and versions of the schema.
#include "system/postgresql/database.hpp"

#include "harness/scratch_directory.hpp"
#include "system/support/certificate_authority.hpp"

#include <tenure/errc.hpp>
#include <tenure/lock.hpp>
#include <tenure/stores/postgresql.hpp>

#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** The user "worker" must give a password. */
struct DatabaseWithPasswords : Database {
    DatabaseWithPasswords()
    {
        person.ask("CREATE ROLE worker LOGIN SUPERUSER PASSWORD 'right'");
        person.ask("DO $$ BEGIN EXECUTE format('COPY (VALUES (''host all worker 127.0.0.1/32 scram-sha-256''), "
                   "(''host all all 127.0.0.1/32 trust'')) TO %L', current_setting('hba_file')); END $$");
        reload();
    }

    void reload()
    {
        person.ask("SELECT pg_reload_conf()");
        // a session of before reads the file again when it gets to it; a new one reads it before it serves
        client.run_until([&] {
            try {
                PostgresqlPerson(server.port(), "user=worker dbname=postgres passfile=/nowhere");
                return false;
            } catch (std::runtime_error const&) {
                return true;
            }
        });
    }

    [[nodiscard]] PostgresqlConfig as_worker() const
    {
        auto chosen = config(server.port());
        chosen.create = false;
        chosen.username = "worker";
        chosen.parameters["passfile"] = "/nowhere";
        return chosen;
    }
};

/** Why logins are refused for good. */
std::string refusal_of(PostgresqlConfig const& config, errc error)
{
    Client client(Database::connect(config));
    auto const refused = expect_not_sent(client.ready());
    CHECK(refused.error == error);
    CHECK(refused.fatal);
    return refused.detail;
}

std::string sessions_of(Database& database)
{
    return database.person.word("SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE "
                                "application_name LIKE 'tenure/%'");
}

} // namespace

TEST_CASE("a login takes its password from the config, from a file, or from a callback", "[postgresql]")
{
    DatabaseWithPasswords database;
    auto config = database.as_worker();
    ScratchDirectory const directory;
    SECTION("none")
    {
        CHECK_THAT(refusal_of(config, errc::authentication_failed), ContainsSubstring("~/.pgpass"));
    }
    SECTION("a wrong one")
    {
        config.password = "very-secret";
        CHECK_THAT(refusal_of(config, errc::authentication_failed), !ContainsSubstring("very-secret"));
    }
    SECTION("in a file")
    {
        auto const file = directory.file("pgpass");
        std::ofstream(file) << "127.0.0.1:" << database.server.port() << ":postgres:worker:right\n";
        ::chmod(file.c_str(), 0600);
        config.parameters["passfile"] = file;
        Client client(Database::connect(config));
        expect<Ready>(client.ready());
    }
    SECTION("a callback, which is asked at each login")
    {
        std::vector<std::string> tokens{"right", "next"};
        unsigned asked = 0;
        config.username.clear();
        config.credentials = [&] { return Credentials{"worker", tokens.at(asked++)}; };
        Client client(Database::connect(config));
        expect<Ready>(client.ready());
        CHECK(asked == 1);
        database.person.ask("ALTER ROLE worker PASSWORD 'next'");
        database.person.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'");
        client.run_until([&] { return std::holds_alternative<Ready>(client.ready()); });
        CHECK(asked == 2);
    }
    SECTION("a callback that fails")
    {
        config.username.clear();
        config.credentials = []() -> Credentials { throw std::runtime_error("no token service"); };
        Client client(Database::connect(config));
        auto const& failed = expect_not_sent(client.ready());
        CHECK(failed.error == errc::authentication_failed);
        CHECK_THAT(failed.detail, ContainsSubstring("no token service"));
    }
}

TEST_CASE("a server whose certificate is wrong gets no login", "[postgresql]")
{
    require_postgresql();
    Authority const authority;
    Authority const other;
    authority.issue("server", "IP:127.0.0.1");
    authority.issue("elsewhere", "IP:127.0.0.2,DNS:elsewhere.example");
    for (auto const& file :
         {authority.ca(), authority.certificate("server"), authority.key("server"), authority.certificate("elsewhere"),
          authority.key("elsewhere")})
        give_to_servers(file);
    give_to_servers(std::filesystem::path(authority.ca()).parent_path());
    auto const with = [&](std::string const& name) {
        return PostgresqlOptions{
            {"ssl=on", "ssl_cert_file=" + authority.certificate(name), "ssl_key_file=" + authority.key(name)}};
    };
    PostgresqlServer const server(with("server"));
    auto config = Database::config(server.port());
    config.parameters = {{"sslmode", "verify-full"}, {"sslrootcert", authority.ca()}};
    auto const logins = [](PostgresqlServer const& which) {
        return PostgresqlPerson(which.port())
            .word("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'tenure/%'");
    };
    SECTION("the right one")
    {
        Client client(Database::connect(config));
        expect<Ready>(client.ready());
        CHECK(logins(server) == "1");
        CHECK(
            PostgresqlPerson(server.port())
                .word("SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE "
                      "'tenure/%'") == "t");
    }
    SECTION("of another authority")
    {
        config.parameters["sslrootcert"] = other.ca();
        Client client(Database::connect(config));
        auto const failed = expect_not_sent(client.ready());
        CHECK(failed.error == errc::tls_failed);
        CHECK_THAT(failed.detail, ContainsSubstring("certificate verify failed"));
        CHECK(logins(server) == "0");
    }
    SECTION("for another address")
    {
        PostgresqlServer const elsewhere(with("elsewhere"));
        config.endpoints = {{"127.0.0.1", elsewhere.port()}};
        Client client(Database::connect(config));
        auto const failed = expect_not_sent(client.ready());
        CHECK(failed.error == errc::tls_failed);
        CHECK_THAT(failed.detail, ContainsSubstring("does not match host name"));
        CHECK(logins(elsewhere) == "0");
    }
    SECTION("no TLS at all")
    {
        PostgresqlServer const plain;
        config.endpoints = {{"127.0.0.1", plain.port()}};
        Client client(Database::connect(config));
        auto const failed = expect_not_sent(client.ready());
        CHECK(failed.error == errc::tls_failed);
        CHECK_THAT(failed.detail, ContainsSubstring("server does not support SSL"));
    }
}

TEST_CASE("a child of fork leaves the session of its parent alone", "[postgresql]")
{
    Database database;
    asio::io_context context;
    std::optional<Store> store(
        open_store(context.get_executor(), Database::config(database.server.port()), {.log = silent_log_sink()}));
    Lease lease;
    Lock(*store, {.key = "held", .ttl = 1s}).async_acquire([&](error_code error, Lease granted) {
        CHECK_FALSE(error);
        lease = std::move(granted);
    });
    auto const run_until = [&](Instant limit, auto const& condition) {
        while (Clock::now() < limit && !condition())
            context.run_one_for(10ms);
    };
    run_until(Clock::now() + 10s, [&] { return lease.valid(); });
    REQUIRE(lease.valid());
    auto const sessions = sessions_of(database);
    context.notify_fork(asio::io_context::fork_prepare);
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        context.notify_fork(asio::io_context::fork_child);
        lease = Lease();
        bool closed = false;
        store->async_close(1s, [&](error_code) { closed = true; });
        store.reset();
        run_until(Clock::now() + 5s, [&] { return closed; });
        context.run_for(100ms);
        ::_exit(closed ? 0 : 1);
    }
    context.notify_fork(asio::io_context::fork_parent);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    // longer than the ttl
    run_until(Clock::now() + 1500ms, [&] { return !lease.valid(); });
    CHECK(lease.valid());
    CHECK(sessions_of(database) == sessions);
    lease.async_release([&](error_code error, ReleaseOutcome) {
        CHECK_FALSE(error);
        store.reset();
    });
    run_until(Clock::now() + 5s, [&] { return !store; });
    CHECK_FALSE(store);
}

TEST_CASE("a session that has lost its prepared statements gets their text", "[postgresql][pg_trusts_prepared]")
{
    Database database;
    database.person.ask("CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NULL; END $$");
    database.person.ask("CREATE TRIGGER forget AFTER INSERT ON tenure.lease FOR EACH ROW WHEN (new.key = 'forget') "
                        "EXECUTE FUNCTION forget()");
    static_cast<void>(database.take(named_key("forget"), 1));
    auto const lease = database.take(named_key("a"), 2);
    auto const renewed = database.client.renew(lease, 20s);
    CHECK(std::holds_alternative<Renewed>(renewed));
}

TEST_CASE("an answer that a paused server gives later still counts", "[postgresql]")
{
    Database database;
    auto const held = database.take(named_key("held"), 1);
    database.client.on_strand([&] { database.client.backend().shortest_ttl(3s); });
    database.server.pause();
    std::optional<ClaimReply> reply;
    database.client.on_strand([&] {
        database.client.backend().claim(
            database.request(named_key("key"), 2), [&](ClaimReply answer) { reply = std::move(answer); });
    });
    // longer than the store waits before it connects anew
    database.client.run_for(1500ms);
    CHECK_FALSE(reply);
    expect_not_sent(database.client.renew(held, 5s));
    database.server.resume();
    database.client.run_until([&] { return reply.has_value(); });
    expect<Granted>(*reply);
    database.client.run_until([&] { return std::holds_alternative<Renewed>(database.client.renew(held, 5s)); });
    CHECK(database.owner_of("key") == owner(2));
}

TEST_CASE(
    "a session that was left is ended, so that nothing of it takes effect later", "[postgresql][pg_lost_session_kept]")
{
    Database database;
    database.person.ask("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                        "PERFORM pg_sleep(60); RETURN NEW; END $$");
    database.person.ask("CREATE TRIGGER slow BEFORE INSERT ON tenure.lease FOR EACH ROW EXECUTE FUNCTION slow()");
    std::optional<ClaimReply> reply;
    database.client.on_strand([&] {
        database.client.backend().shortest_ttl(3s);
        database.client.backend().claim(
            database.request(named_key("key"), 1), [&](ClaimReply answer) { reply = std::move(answer); });
    });
    database.client.run_until([&] { return reply.has_value(); });
    expect_unknown(*reply);
    database.client.run_until([&] {
        return database.person.word("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0";
    });
    expect<Ready>(database.client.ready());
    CHECK(database.person.word("SELECT count(*) FROM tenure.lease") == "0");
}

TEST_CASE("a schema that is newer or older than the program is refused, unless it serves it", "[postgresql]")
{
    Database database;
    auto config = Database::config(database.server.port());
    config.create = false;
    auto const with_version = [&](std::string const& version) {
        database.person.ask(
            "CREATE OR REPLACE FUNCTION tenure.version() RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY[" + version +
            "]'");
    };
    SECTION("newer, and serves this one")
    {
        with_version("7, 1");
        Client client(Database::connect(config));
        expect<Ready>(client.ready());
    }
    SECTION("newer")
    {
        with_version("7, 7");
        CHECK_THAT(refusal_of(config, errc::wrong_server), ContainsSubstring("newer than this program"));
    }
    SECTION("older")
    {
        with_version("0, 0");
        CHECK_THAT(refusal_of(config, errc::wrong_server), ContainsSubstring("tenure init"));
    }
    SECTION("older, and the program may upgrade it")
    {
        with_version("0, 0");
        config.create = true;
        Client client(Database::connect(config));
        expect<Ready>(client.ready());
    }
}
