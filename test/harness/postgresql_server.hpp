// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/server_process.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenure::test
{

/** A person at a server, by libpq. Blocks. */
class PostgresqlPerson
{
public:
    /** @param parameters  of libpq: `port=5432 user=worker` */
    explicit PostgresqlPerson(std::uint16_t port, std::string const& parameters = "user=postgres dbname=postgres");
    PostgresqlPerson(PostgresqlPerson const&) = delete;
    PostgresqlPerson& operator=(PostgresqlPerson const&) = delete;
    ~PostgresqlPerson();

    /** The rows of the statement, each value as text. @throws std::runtime_error with SQLSTATE and message */
    std::vector<std::vector<std::string>> ask(std::string const& sql, std::vector<std::string> const& values = {});
    /** As above: the first value, empty if there is none. */
    std::string word(std::string const& sql, std::vector<std::string> const& values = {});
    /** Its SQLSTATE; empty: it succeeded. */
    std::string code_of(std::string const& sql, std::vector<std::string> const& values = {});

private:
    struct Connection;
    std::unique_ptr<Connection> connection_;
};

/** A PostgreSQL server on a free port of the loopback interface. It runs as another user where this one is root. */
class PostgresqlServer : public ServerProcess
{
public:
    /** @param settings  of the server: `fsync=off` */
    explicit PostgresqlServer(std::vector<std::string> settings = {});
    /** A standby of the primary, whose name for it is `standby`; it follows when this returns. */
    PostgresqlServer(PostgresqlServer const& primary, std::vector<std::string> settings = {});

    /** `postgresql://postgres@127.0.0.1:PORT/postgres?create=true` */
    [[nodiscard]] std::string url() const;
    /** After `kill` or `stop`; returns when it serves. */
    void start();
    /** The server's own immediate stop, as after a crash: it recovers at the next start. */
    void crash();
    /** A standby becomes a primary. */
    void promote();
    [[nodiscard]] std::string log() const { return directory_.text_of("server.log"); }

private:
    void choose_settings(std::vector<std::string> settings);
    [[nodiscard]] bool launch();

    std::vector<std::string> settings_;
};

/** PgBouncer in transaction mode in front of a server. */
class PgBouncer : public ServerProcess
{
public:
    explicit PgBouncer(std::uint16_t server_port);

    /** As that of the server. */
    [[nodiscard]] std::string url() const;
    void start();
};

/** Skips the running test where PostgreSQL is not installed. */
void require_postgresql();
/** Likewise with PgBouncer. */
void require_pgbouncer();

/** Fixture: a server of the test's own, with the schema. */
struct PostgresqlTest {
    PostgresqlServer server{(require_postgresql(), std::vector<std::string>{})};
};

} // namespace tenure::test
