// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What is done to servers of PostgreSQL, to their sessions and standbys, and to a pooler.
#include "postgresql_under_attack.hpp"

#include "fleet.hpp"

#include "harness/auditor.hpp"

#include <chrono>
#include <csignal>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

/// longer than the ttl
constexpr std::chrono::seconds jump_of_clock{10};
/// a standby that is made anew needs some of it
constexpr std::chrono::seconds failover_takes{15};

constexpr char const* of_clients =
    "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

bool ends_before(Attack const& attack, std::chrono::nanoseconds time)
{
    return attack.end < boottime_ns() + time.count();
}

} // namespace

bool PostgresqlUnderAttack::tokens_are_ahead() const
{
    return expiry_delay(boottime_ns() - 2'000'000'000) > 0;
}

// -- the server --

bool PostgresqlUnderAttack::stop(Attack& attack, bool briefly)
{
    auto const ttl = arena_.ttl;
    FaultScope const fault{
        attack.ledger,
        briefly ? harmless("server stopped for less than G/6") : disturbing("server stopped for more than G")};
    auto& server = primary();
    server.pause();
    attack.wait(briefly ? attack.random.between(ttl / 16, ttl / 6) : attack.random.between(ttl * 11 / 10, ttl * 9 / 5));
    server.resume();
    return true;
}

bool PostgresqlUnderAttack::stop_postmaster(Attack& attack)
{
    FaultScope const fault{attack.ledger, disturbing("postmaster stopped: new connections hang")};
    auto const pid = primary().pid();
    ::kill(pid, SIGSTOP);
    attack.wait(attack.random.between(arena_.ttl / 2, arena_.ttl * 3 / 2));
    ::kill(pid, SIGCONT);
    return true;
}

bool PostgresqlUnderAttack::end_for_a_while(Attack& attack, char const* name, void (test::PostgresqlServer::*end)())
{
    FaultScope const fault{attack.ledger, disturbing(name)};
    auto& server = primary();
    (server.*end)();
    attack.wait(attack.random.between(0ms, arena_.ttl / 2));
    server.start();
    return true;
}

bool PostgresqlUnderAttack::kill_backend(Attack& attack)
{
    FaultScope const fault{attack.ledger, disturbing("backend killed, so all of them restart")};
    auto const pid = person_at(primary())->word(std::string("SELECT pid ") + of_clients + " ORDER BY random() LIMIT 1");
    if (pid.empty())
        return false;
    ::kill(std::stoi(pid), SIGKILL);
    attack.wait(attack.random.between(500ms, arena_.ttl));
    return true;
}

bool PostgresqlUnderAttack::fill_disk(Attack& attack)
{
    auto& server = primary();
    if (!server.has_disk())
        return false;
    FaultScope const fault{attack.ledger, disturbing("disk full")};
    // a table that grows needs the log, too
    auto const person = person_at(server);
    server.fill_disk();
    static_cast<void>(person->code_of("CREATE TABLE guarded.growing AS SELECT generate_series(1, 1000000)"));
    attack.wait(attack.random.between(arena_.ttl / 2, arena_.ttl * 3 / 2));
    server.free_disk();
    // it does not recover by itself where the log had no room
    if (!server.running())
        server.start();
    attack.wait(500ms);
    return true;
}

bool PostgresqlUnderAttack::jump(Attack& attack)
{
    bool const ahead = clock_.offset() == 0s;
    // after a jump back, keys without renewals stay for its length
    if (!ahead && ends_before(attack, jump_of_clock))
        return false;
    FaultScope const fault{attack.ledger, ahead ? forgetting("wall clock +10 s") : disturbing("wall clock -10 s")};
    if (!ahead)
        jumped_back_ = boottime_ns();
    clock_.set(ahead ? std::chrono::nanoseconds{jump_of_clock} : 0ns);
    attack.wait(200ms);
    return true;
}

std::vector<Disturbance> PostgresqlUnderAttack::server_disturbances()
{
    return {
        {"server stopped for less than G/6", 1, [this](Attack& attack) { return stop(attack, true); }},
        {"server stopped for more than G", 1, [this](Attack& attack) { return stop(attack, false); }},
        {"postmaster stopped", 1, [this](Attack& attack) { return stop_postmaster(attack); }},
        {"server stopped immediately", 1,
         [this](Attack& attack) {
             return end_for_a_while(attack, "server stopped immediately and restarted", &test::PostgresqlServer::crash);
         }},
        {"server killed", 1,
         [this](Attack& attack) {
             return end_for_a_while(attack, "server killed and restarted", &test::PostgresqlServer::kill);
         }},
        {"backend killed", 1, [this](Attack& attack) { return kill_backend(attack); }},
        {"disk full", 1, [this](Attack& attack) { return fill_disk(attack); }},
        {"wall clock jumps", 2, [this](Attack& attack) { return jump(attack); }}};
}

// -- sessions --

bool PostgresqlUnderAttack::end_sessions(
    Attack& attack, std::string const& name, std::string const& function, unsigned times)
{
    FaultScope const fault{attack.ledger, disturbing(name)};
    for (unsigned i = 0; i < times; ++i) {
        tell("SELECT " + function + "(pid) " + of_clients + " AND random() < 0.3");
        attack.wait(50ms);
    }
    return true;
}

bool PostgresqlUnderAttack::hold_snapshot(Attack& attack)
{
    FaultScope const fault{attack.ledger, harmless("old transaction")};
    auto const person = person_at(primary());
    person->ask("BEGIN ISOLATION LEVEL REPEATABLE READ");
    person->ask("SELECT count(*) FROM tenure.lease");
    attack.wait(arena_.ttl * 3 / 2);
    return true;
}

std::vector<Disturbance> PostgresqlUnderAttack::session_disturbances()
{
    return {
        {"statements cancelled", 1,
         [this](Attack& attack) { return end_sessions(attack, "statements cancelled", "pg_cancel_backend", 40); }},
        {"backends terminated", 1,
         [this](Attack& attack) { return end_sessions(attack, "backends terminated", "pg_terminate_backend", 20); }},
        {"old transaction", 1, [this](Attack& attack) { return hold_snapshot(attack); }}};
}

// -- standbys --

bool PostgresqlUnderAttack::stop_receiver(Attack& attack, bool cancels)
{
    FaultScope const fault{
        attack.ledger,
        disturbing(cancels ? "standby silent, and waits for it cancelled" : "standby silent, so no commit ends")};
    auto const receiver = person_at(standby())->word("SELECT pid FROM pg_stat_wal_receiver");
    if (receiver.empty())
        return false;
    auto const pid = std::stoi(receiver);
    ::kill(pid, SIGSTOP);
    auto const until =
        boottime_ns() + std::chrono::nanoseconds{attack.random.between(arena_.ttl / 2, arena_.ttl * 3 / 2)}.count();
    while (boottime_ns() < until) {
        if (cancels)
            tell(std::string("SELECT pg_cancel_backend(pid) ") + of_clients + " AND wait_event = 'SyncRep'");
        attack.wait(100ms);
    }
    ::kill(pid, SIGCONT);
    return true;
}

bool PostgresqlUnderAttack::fail_over(Attack& attack, Way way, std::string const& name)
{
    if (ends_before(attack, failover_takes) || (way == Way::lag && tokens_are_ahead()))
        return false;
    FaultScope const fault{attack.ledger, way == Way::lag ? forgetting(name) : disturbing(name)};
    auto& old = primary();
    if (way == Way::lag) {
        // what is granted from now on is lost
        wait_for_standby(false);
        auto const person = person_at(standby());
        person->ask("ALTER SYSTEM SET primary_conninfo = ''");
        person->ask("SELECT pg_reload_conf()");
        attack.wait(attack.random.between(arena_.ttl / 2, arena_.ttl));
    }
    in_doubt_ = true;
    if (way == Way::stop)
        old.pause();
    else
        old.kill();
    standby().promote();
    primary_ = 1 - primary_;
    wait_for_standby(false);
    in_doubt_ = false;
    attack.wait(arena_.ttl / 2);
    if (way == Way::stop) {
        // its commits wait for a standby that it has lost
        old.resume();
        attack.wait(attack.random.between(arena_.ttl / 2, arena_.ttl));
    }
    old.follow(primary());
    wait_for_standby(true);
    attack.wait(arena_.ttl / 4);
    return true;
}

std::vector<Disturbance> PostgresqlUnderAttack::standby_disturbances()
{
    auto const fails_over = [this](std::string const& name, Way way) {
        return Disturbance{name, 1, [this, way, name](Attack& attack) { return fail_over(attack, way, name); }};
    };
    return {
        {"standby silent", 1, [this](Attack& attack) { return stop_receiver(attack, false); }},
        {"standby silent, and waits for it cancelled", 1,
         [this](Attack& attack) { return stop_receiver(attack, true); }},
        fails_over("primary killed, its synchronous standby promoted", Way::kill),
        fails_over("primary stopped, its synchronous standby promoted, and it comes back", Way::stop),
        fails_over("primary killed, a standby promoted that lacks its last commits", Way::lag)};
}

// -- the pooler --

bool PostgresqlUnderAttack::disturb_pooler(Attack& attack, bool kills)
{
    FaultScope const fault{attack.ledger, disturbing(kills ? "PgBouncer killed and restarted" : "PgBouncer stopped")};
    kills ? pooler_->kill() : pooler_->pause();
    attack.wait(attack.random.between(arena_.ttl / 4, arena_.ttl * 3 / 2));
    kills ? pooler_->start() : pooler_->resume();
    return true;
}

std::vector<Disturbance> PostgresqlUnderAttack::pooler_disturbances()
{
    return {
        {"PgBouncer killed", 2, [this](Attack& attack) { return disturb_pooler(attack, true); }},
        {"PgBouncer stopped", 2, [this](Attack& attack) { return disturb_pooler(attack, false); }}};
}

std::vector<Disturbance> PostgresqlUnderAttack::disturbances()
{
    // on the ways to one server only: with faults for both, they would be most of the deck
    auto all = networks_.front()->disturbances();
    for (auto& more :
         {server_disturbances(), session_disturbances(), pooled() ? pooler_disturbances() : standby_disturbances()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

} // namespace tenure::faults
