// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/postgresql.hpp"

#include "harness/control.hpp"
#include "harness/program.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/stopwatch.hpp"

#include "harness/postgresql_server.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench::raw
{

namespace
{

std::string connection_text(std::uint16_t port)
{
    return "host=127.0.0.1 port=" + std::to_string(port) + " user=postgres dbname=postgres gssencmode=disable";
}

/** A session with prepared statements. */
class Session
{
public:
    explicit Session(std::uint16_t port)
        : connection_(PQconnectdb(connection_text(port).c_str()), &PQfinish)
    {
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            throw std::runtime_error(PQerrorMessage(connection_.get()));
    }

    void prepare(char const* name, char const* sql) { check(PQprepare(connection_.get(), name, sql, 0, nullptr)); }
    /** @returns how many rows it changed or found */
    int execute(char const* name, std::vector<std::string> const& values = {})
    {
        std::vector<char const*> pointers;
        for (auto const& value : values)
            pointers.push_back(value.c_str());
        return check(PQexecPrepared(
            connection_.get(), name, static_cast<int>(values.size()), pointers.data(), nullptr, nullptr, 0));
    }
    int run(std::string const& sql) { return check(PQexec(connection_.get(), sql.c_str())); }

    void wait_for_notification()
    {
        for (;;) {
            if (PGnotify* const news = PQnotifies(connection_.get())) {
                PQfreemem(news);
                return;
            }
            pollfd ready{PQsocket(connection_.get()), POLLIN, 0};
            if (::poll(&ready, 1, 60'000) <= 0 || PQconsumeInput(connection_.get()) != 1)
                throw std::runtime_error("no notification came");
        }
    }

private:
    int check(PGresult* result)
    {
        std::unique_ptr<PGresult, void (*)(PGresult*)> const owned(result, &PQclear);
        auto const status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        std::string const changed = PQcmdTuples(result);
        return changed.empty() ? 0 : std::stoi(changed);
    }

    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

constexpr char const* upsert =
    "INSERT INTO raw_lock AS l VALUES ($1, clock_timestamp() + interval '10 s', 'me') ON CONFLICT (name) DO UPDATE SET "
    "until = excluded.until, by = excluded.by WHERE l.until <= clock_timestamp()";
constexpr char const* update = "UPDATE raw_lock SET until = '-infinity' WHERE name = $1 AND by = 'me'";

/** p50 of `timed`; `between` runs after each. */
Measurement measure(unsigned times, std::function<void()> const& timed, std::function<void()> const& between)
{
    std::vector<double> micros;
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        auto const begin = Steady::now();
        timed();
        if (time >= warm_up)
            micros.push_back(microseconds_since(begin));
        between();
    }
    return {median(std::move(micros))};
}

void expect_one(int rows)
{
    if (rows != 1)
        throw std::runtime_error("a raw statement changed " + std::to_string(rows) + " rows, not one");
}

} // namespace

void postgresql_require_durable(std::uint16_t port)
{
    tenure::test::PostgresqlPerson person(port);
    for (std::string const setting : {"fsync", "full_page_writes", "synchronous_commit"})
        if (auto const value = person.word("SHOW " + setting); value == "off" || value == "local")
            throw std::runtime_error(
                "PostgreSQL runs with " + setting + " = " + value +
                ": it does not wait for its disk, so no figure would say anything; set it to on");
}

void postgresql_prepare(std::uint16_t port, unsigned keys)
{
    Session session(port);
    session.run(
        "CREATE TABLE IF NOT EXISTS raw_lock (name text PRIMARY KEY, until timestamptz NOT NULL, by text NOT NULL) "
        "WITH (fillfactor = 50)");
    session.run(
        "CREATE TABLE IF NOT EXISTS raw_slot (number int PRIMARY KEY, until timestamptz NOT NULL, by text NOT NULL) "
        "WITH (fillfactor = 50)");
    session.run(
        "INSERT INTO raw_slot SELECT n, CASE WHEN n = " + std::to_string(keys) +
        " THEN '-infinity'::timestamptz ELSE 'infinity' END, '' FROM generate_series(1, " + std::to_string(keys) +
        ") n ON CONFLICT DO NOTHING");
    session.run("VACUUM ANALYZE raw_slot");
}

Measurement postgresql_pairs(std::uint16_t port, unsigned clients, double seconds)
{
    tenure::test::ScratchDirectory const directory;
    auto const script = directory.file("pair.sql");
    std::ofstream(script)
        << "INSERT INTO raw_lock AS l VALUES ('k' || :client_id, clock_timestamp() + interval '10 s', 'me') ON "
           "CONFLICT "
           "(name) DO UPDATE SET until = excluded.until, by = excluded.by WHERE l.until <= clock_timestamp();\n"
        << "UPDATE raw_lock SET until = '-infinity' WHERE name = 'k' || :client_id AND by = 'me';\n";
    auto const whole = std::to_string(std::max(1, static_cast<int>(seconds)));
    auto const count = std::to_string(clients);
    auto const output =
        run_program({tenure::test::postgresql_program("pgbench"), "-n", "-h", "127.0.0.1", "-p", std::to_string(port),
                     "-U", "postgres", "-M", "prepared", "-c", count, "-j", "2", "-T", whole, "-f", script, "postgres"})
            .output;
    auto const at = output.find("\ntps = ");
    if (at == std::string::npos)
        throw std::runtime_error("pgbench said nothing of its speed:\n" + output);
    return {std::stod(output.substr(at + 7))};
}

Measurement postgresql_latency(std::uint16_t port, unsigned times)
{
    Session session(port);
    session.prepare("upsert", upsert);
    session.prepare("update", update);
    return measure(
        times, [&] { expect_one(session.execute("upsert", {"raw:0"})); },
        [&] { expect_one(session.execute("update", {"raw:0"})); });
}

Measurement postgresql_first_free(std::uint16_t port, unsigned times)
{
    Session session(port);
    session.prepare(
        "claim",
        "UPDATE raw_slot SET until = clock_timestamp() + interval '10 s', by = 'me' WHERE number = (SELECT number "
        "FROM raw_slot WHERE until <= clock_timestamp() ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING "
        "number");
    session.prepare("free", "UPDATE raw_slot SET until = '-infinity' WHERE by = 'me'");
    return measure(times, [&] { expect_one(session.execute("claim")); }, [&] { expect_one(session.execute("free")); });
}

Measurement postgresql_one_after_another(std::uint16_t port, unsigned keys, unsigned times)
{
    Session session(port);
    session.prepare(
        "claim",
        "UPDATE raw_slot SET until = clock_timestamp() + interval '10 s', by = 'me' WHERE number = $1 AND until <= "
        "clock_timestamp()");
    session.prepare("free", "UPDATE raw_slot SET until = '-infinity' WHERE by = 'me'");
    return measure(
        times,
        [&] {
            for (unsigned number = 1; number <= keys; ++number)
                if (session.execute("claim", {std::to_string(number)}) == 1)
                    return;
            throw std::runtime_error("no raw row was free");
        },
        [&] { expect_one(session.execute("free")); });
}

Measurement postgresql_updates(std::uint16_t port, unsigned times)
{
    Session session(port);
    session.run(
        "INSERT INTO raw_lock SELECT 'r' || n, 'infinity', 'me' FROM generate_series(0, 99) n ON CONFLICT DO NOTHING");
    session.prepare(
        "renew", "UPDATE raw_lock SET until = clock_timestamp() + interval '10 s' WHERE name = $1 AND by = 'me'");
    unsigned number = 0;
    return measure(times, [&] { expect_one(session.execute("renew", {"r" + std::to_string(number++ % 100)})); }, [] {});
}

void postgresql_hold(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    Session session(port);
    session.prepare("upsert", upsert);
    session.prepare("update", update);
    session.prepare("notify", "SELECT pg_notify('raw_handover', '')");
    for (auto word = control.hear(); word != Word::quit; word = control.hear()) {
        if (word == Word::acquire) {
            expect_one(session.execute("upsert", {"handover"}));
        } else {
            auto const begin = instant_now();
            expect_one(session.execute("update", {"handover"}));
            session.execute("notify");
            control.notify(begin);
        }
        control.say(Word::done);
    }
}

void postgresql_wait(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    Session session(port);
    session.prepare("upsert", upsert);
    session.prepare("update", update);
    session.run("LISTEN raw_handover");
    while (control.hear() == Word::wait) {
        control.say(Word::done);
        while (session.execute("upsert", {"handover"}) != 1)
            session.wait_for_notification();
        auto const end = instant_now();
        expect_one(session.execute("update", {"handover"}));
        control.notify(end);
        control.say(Word::done);
    }
}

} // namespace bench::raw
