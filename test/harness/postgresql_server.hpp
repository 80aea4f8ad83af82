// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/server_process.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
    /** Sends two transactions at once, the second of several statements, and closes the connection when the first one
     * is answered. */
    void leave_between(std::string const& first, std::vector<std::string> const& second);

private:
    struct Connection;
    std::unique_ptr<Connection> connection_;
};

struct PostgresqlOptions {
    /// of the server: `fsync=off`
    std::vector<std::string> settings = {};
    std::vector<std::pair<std::string, std::string>> environment = {};
    ScratchDirectory::Place place = ScratchDirectory::Place::memory;
    /// the size of a disk for its data alone, as `mount` takes it: `200m`. Empty: none
    std::string disk = {};
};

/** A PostgreSQL server on a free port of the loopback interface. It runs as another user where this one is root. */
class PostgresqlServer : public ServerProcess
{
public:
    explicit PostgresqlServer(PostgresqlOptions options = {});
    /** A standby of the primary, whose name for it is `standby`; it follows when this returns. */
    explicit PostgresqlServer(PostgresqlServer const& primary, PostgresqlOptions options = {});
    ~PostgresqlServer();

    /** `postgresql://postgres@127.0.0.1:PORT/postgres?create=true` */
    [[nodiscard]] std::string url() const;
    /** After `kill` or `stop`; returns when it serves. */
    void start();
    /** The server's own immediate stop, as after a crash: it recovers at the next start. */
    void crash();
    /** SIGKILL to all of its processes. */
    void kill();
    /** SIGSTOP to all of its processes. */
    void pause();
    void resume();
    /** False: it has ended by itself, or was killed. */
    [[nodiscard]] bool running() { return process_ && process_->running(); }
    /** The processor time that its processes have used, in seconds. */
    [[nodiscard]] double cpu_seconds() const;
    /** A standby becomes a primary. */
    void promote();
    /** Throws its data away, and becomes a standby of the primary; it follows when this returns. */
    void follow(PostgresqlServer const& primary);
    /** Whether it has a disk for itself: only the superuser may make one. */
    [[nodiscard]] bool has_disk() const noexcept { return mounted_; }
    /** Leaves no byte free on its disk. */
    void fill_disk();
    void free_disk();
    [[nodiscard]] std::string log() const { return directory_.text_of("server.log"); }

private:
    void prepare();
    [[nodiscard]] bool launch();
    void signal_all(int number);

    PostgresqlOptions options_;
    bool mounted_ = false;
};

/** The path of a program of the server, such as `pgbench`; empty: there is none. Debian keeps them out of PATH. */
[[nodiscard]] std::string postgresql_program(std::string const& name);
/** Lets the user that servers run as have the file. */
void give_to_servers(std::string const& path);

/** PgBouncer in transaction mode in front of a server. */
class PgBouncer : public ServerProcess
{
public:
    explicit PgBouncer(std::uint16_t server_port);

    /** As that of the server. */
    [[nodiscard]] std::string url() const;
    void start();
};

/** Why this machine cannot start the servers; empty: it can. */
[[nodiscard]] std::string missing_postgresql();
[[nodiscard]] std::string missing_pgbouncer();
/** Skips the running test where PostgreSQL is not installed. */
void require_postgresql();
/** Likewise with PgBouncer. */
void require_pgbouncer();

/** Fixture: a server of the test's own, with the schema. */
struct PostgresqlTest {
    PostgresqlServer server{(require_postgresql(), PostgresqlOptions{})};
};

} // namespace tenure::test
