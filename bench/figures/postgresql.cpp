// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The store on PostgreSQL beside the statements that a program without it would use. The server waits for its disk, and
// is held to the server's core.
#include "figures/compared.hpp"
#include "figures/holder_of_all_but_last.hpp"

#include "harness/child.hpp"
#include "library/acquire.hpp"
#include "library/workloads.hpp"
#include "raw/postgresql.hpp"

#include "harness/postgresql_server.hpp"

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bench
{

namespace
{

using tenure::test::PostgresqlPerson;
using tenure::test::PostgresqlServer;

constexpr auto features = library::by_default;
constexpr unsigned pool_size = 1024;

/** Sees each statement of others by the instant at which it began. */
class PostgresqlObserver final : public Observer
{
public:
    explicit PostgresqlObserver(std::uint16_t port)
        : person_(port)
    {
    }

    long long requests_of_others() override
    {
        return std::stoll(
            "0" + person_.word("SELECT (extract(epoch FROM max(query_start)) * 1000000)::bigint FROM "
                               "pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
                               "pg_backend_pid()"));
    }
    [[nodiscard]] bool listened() const override { return true; }

private:
    PostgresqlPerson person_;
};

/** One server, and what is measured there. */
class Postgresql
{
public:
    explicit Postgresql(Setting const& setting)
        : setting_(setting)
        , times_(setting.extent.pairs / 10)
    {
        // processes inherit it
        pin(Place::same);
        server_.emplace(tenure::test::PostgresqlOptions{.place = tenure::test::ScratchDirectory::Place::disk});
        pin(Place::any);
        raw::postgresql_require_durable(port());
        raw::postgresql_prepare(port(), pool_size);
        // makes the schema
        static_cast<void>(
            in_child(Place::split, [this] { return library::pair_latency(server_->url(), 10, features); }));
    }

    void pairs()
    {
        auto const seconds = 2 * setting_.extent.pair_seconds;
        auto const all = run(
            {Candidate{
                 "pgbench",
                 [=, this] {
                     return in_child(Place::any, [=, this] { return raw::postgresql_pairs(port(), 64, seconds); });
                 }},
             Candidate{"locks, default", [=, this] {
                           return in_child(
                               Place::any, [=, this] { return library::pairs(url(), 64, seconds, features); });
                       }}});
        print("PostgreSQL, pairs, 64 in flight", all, "pairs/s");
        figure("pairs_64", all[1].median() / all[0].median(), Goal::at_least, 1.3);
    }

    void one()
    {
        auto const disk = with_slow_disk();
        auto const all = run(
            {counted("raw upsert", times_, [this] { return raw::postgresql_latency(port(), times_); }),
             counted("lock, default", times_, [this] { return library::acquire_latency(url(), times_, features); })});
        print("PostgreSQL, p50 of a claim", all, "us");
        print("PostgreSQL, server CPU of a pair", all, "us", 1);
        figure("latency_1", all[1].median() / all[0].median(), Goal::at_most, 1.5);
        figure("server_cpu", all[1].median(1) / all[0].median(1), Goal::at_most, 2.0);
    }

    void busy()
    {
        auto const all = run(
            {counted("raw update", times_, [this] { return raw::postgresql_updates(port(), times_); }),
             counted("lock, default", times_, [this] { return library::busy_latency(url(), times_, features); })});
        print("PostgreSQL, server CPU of a claim that finds the key held", all, "us", 1);
        figure("busy", all[1].median(1) / all[0].median(1), Goal::at_most, 1.6);
    }

    void first_free()
    {
        HolderOfAllButLast const others(url(), pool_size);
        auto const times = setting_.extent.first_free;
        auto const few = std::max(3U, times / 100);
        auto const all = run(
            {counted("raw statement", times, [=, this] { return raw::postgresql_first_free(port(), times); }),
             counted(
                 "pool, default", times, [=, this] { return library::first_free(url(), pool_size, times, features); }),
             counted("one update after another", few, [=, this] {
                 return raw::postgresql_one_after_another(port(), pool_size, few);
             })});
        print("PostgreSQL, p50, first free of 1024", all, "us");
        print("PostgreSQL, server CPU of the same and its release", all, "us", 1);
        figure("first_free_1024", all[1].median(1) / all[0].median(1), Goal::at_most, 2.2);
        figure("first_free_1024_speedup", all[2].median() / all[1].median(), Goal::at_least, 50);
    }

    /** By the statement that the library sends for leases whose renewals are due together. */
    void renewals()
    {
        PostgresqlPerson person(port());
        person.ask("DELETE FROM tenure.lease");
        person.ask("VACUUM FULL tenure.lease");
        person.ask(
            "INSERT INTO tenure.lease SELECT 'renewed:' || n, NULL, NULL, 'me', 1, now(), now() + interval '1 hour' "
            "FROM generate_series(1, 100) n");
        auto const pages = [&] { return std::stod(person.word("SELECT pg_relation_size('tenure.lease') / 8192")); };
        static_cast<void>(renew(1));
        auto const before = pages();
        auto const rounds = times_ / 10;
        auto const all = run(
            {counted("raw updates", times_ / 100, [this] { return raw::postgresql_updates(port(), times_); }),
             counted("one statement", rounds, [=, this] { return renew(rounds); })});
        print("PostgreSQL, server CPU of 100 renewals", all, "us", 1);
        figure("renew_100", all[1].median(1) / all[0].median(1), Goal::at_most, 0.35);
        static_cast<void>(renew(1000));
        std::printf("PostgreSQL, pages of the table: %.0f, and %.0f after 100,000 renewals\n", before, pages());
        figure("bloat", pages() / before, Goal::at_most, 2);
    }

    void handover()
    {
        auto const disk = with_slow_disk();
        compare_handovers(
            setting_,
            {"PostgreSQL", "postgresql_handover", [this](int control) { raw::postgresql_hold(port(), control); },
             [this](int control) { raw::postgresql_wait(port(), control); }, url(),
             [this] { return std::make_unique<PostgresqlObserver>(port()); }, 1.2});
    }

private:
    [[nodiscard]] std::uint16_t port() const { return server_->port(); }
    [[nodiscard]] std::string url() const
    {
        return "postgresql://postgres@127.0.0.1:" + std::to_string(port()) + "/postgres";
    }

    /** Lets each flush last 0.7 ms longer, until the result is destroyed. Goals of time are for disks on which a raw
     *  upsert takes a millisecond; a virtual disk may flush in 20 us, where the rest of a statement is all that counts.
     */
    [[nodiscard]] std::shared_ptr<void> with_slow_disk() const
    {
        auto const set = [port = port()](std::string const& delay) {
            PostgresqlPerson person(port);
            // without it, only beside other transactions
            person.ask("ALTER SYSTEM SET commit_siblings = 0");
            person.ask("ALTER SYSTEM SET commit_delay = " + delay);
            person.ask("SELECT pg_reload_conf()");
        };
        set("700");
        return {nullptr, [set](void*) { set("0"); }};
    }

    /** Renews 100 leases that many times, and a tenth more. */
    Measurement renew(unsigned rounds) const
    {
        PostgresqlPerson person(port());
        for (unsigned round = 0; round < rounds + rounds / 10; ++round)
            person.ask(
                "SELECT tenure.renew(array_agg('renewed:' || n), array_agg('me'::text), array_agg(3600000::bigint)) "
                "FROM generate_series(1, 100) n");
        return {0};
    }

    /** The second value of the run: the server's CPU in microseconds of each of `count`, its sessions' logins included.
     */
    [[nodiscard]] Candidate counted(std::string name, unsigned count, std::function<Measurement()> work)
    {
        return {std::move(name), [this, count, work = std::move(work)] {
                    auto const before = server_->cpu_seconds();
                    auto result = in_child(Place::split, work);
                    // the first tenth, which is not timed, also takes it
                    result.push_back((server_->cpu_seconds() - before) * 1e6 / (count * 1.1));
                    return result;
                }};
    }
    [[nodiscard]] std::vector<Series> run(std::vector<Candidate> const& candidates) const
    {
        return interleave(setting_.extent.rounds, candidates);
    }
    void print(
        std::string const& what, std::vector<Series> const& all, std::string const& unit, std::size_t column = 0) const
    {
        for (auto const& series : all)
            setting_.report.medians(what, series, unit, column);
    }
    void figure(std::string const& name, double ratio, Goal goal, double limit) const
    {
        setting_.report.figure("postgresql_" + name, ratio, goal, limit);
    }

    Setting const& setting_;
    unsigned times_;
    std::optional<PostgresqlServer> server_;
};

} // namespace

void measure_postgresql(Setting const& setting)
{
    if (auto const missing = tenure::test::missing_postgresql(); !missing.empty()) {
        std::printf("postgresql: %s, so it is not measured\n", missing.c_str());
        return;
    }
    Postgresql measured(setting);
    measured.pairs();
    measured.one();
    measured.busy();
    measured.first_free();
    measured.renewals();
    measured.handover();
}

} // namespace bench
