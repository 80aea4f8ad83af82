// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Examination of a server for leases.
#include "operations.hpp"

#include <store/diagnosis.hpp>

namespace tenure::postgresql
{

namespace
{

using Severity = Finding::Severity;

constexpr int round_trips = 5;

/** Subject, what was observed, whether it is well (null: unknown), severity (w, e), advice. `reply_time` is the
 * standby's own clock; a commit just before makes it fresh. */
constexpr std::string_view settings = R"sql(SELECT * FROM (VALUES
('version', 'PostgreSQL ' || current_setting('server_version'), current_setting('server_version_num')::int >= 130000, 'e',
 'leases need PostgreSQL 13 or newer'),
('durability', 'fsync ' || current_setting('fsync') || ', full_page_writes ' || current_setting('full_page_writes'),
 current_setting('fsync')::bool AND current_setting('full_page_writes')::bool, 'e',
 'a crash may undo grants, and two holders follow: set both to on'),
('synchronous_commit', current_setting('synchronous_commit'), current_setting('synchronous_commit') NOT IN ('off', 'local'),
 'w', 'tenure sets it to on for its own transactions; a crash may undo your guarded writes'),
('synchronous standbys', coalesce(nullif(current_setting('synchronous_standby_names'), ''), 'none'),
 current_setting('synchronous_standby_names') <> '', 'w', 'if a server is promoted that has missed a grant, two holders '
 'follow: set synchronous_standby_names, and promote such a standby only'),
('autovacuum', current_setting('autovacuum'), current_setting('autovacuum')::bool, 'e',
 'each renewal leaves a dead row: set autovacuum to on'),
('dead rows', (SELECT n_dead_tup || ' beside ' || n_live_tup || ' live ones' FROM pg_stat_all_tables
 WHERE relid = 'tenure.lease'::regclass), (SELECT n_dead_tup <= 100000 FROM pg_stat_all_tables
 WHERE relid = 'tenure.lease'::regclass), 'w', 'an old transaction or replication slot keeps vacuum from removing them, and '
 'each request becomes slower: look for it in pg_stat_activity and pg_replication_slots'),
('idle_in_transaction_session_timeout', current_setting('idle_in_transaction_session_timeout'),
 current_setting('idle_in_transaction_session_timeout') <> '0', 'w',
 'a transaction that hangs after tenure.guard keeps its key taken: set a limit'),
('TLS', (SELECT CASE WHEN ssl THEN 'on' ELSE 'off' END FROM pg_stat_ssl WHERE pid = pg_backend_pid()),
 (SELECT ssl OR inet_client_addr() IS NULL OR inet_client_addr() << '127.0.0.0/8' FROM pg_stat_ssl
   WHERE pid = pg_backend_pid()), 'w', 'owners and passwords travel in the clear: add sslmode=verify-full to the URL')
) AS v UNION ALL
SELECT 'clock of standby ' || application_name, coalesce(sync_state || ', ' || round(s.ahead) || ' ms after this one''s',
 'not visible to this user'), s.ahead <= 100, 'e', CASE WHEN s.ahead IS NULL THEN 'grant pg_monitor to the user'
 ELSE 'promoted, it would free keys before their ttl: synchronise the clocks' END
FROM pg_stat_replication, LATERAL (SELECT extract(epoch FROM reply_time - clock_timestamp()) * 1000 AS ahead) s)sql";

/** Any outcome of a query: a failure is a finding. */
struct Asked {
    Outcome outcome;
    std::chrono::nanoseconds took;

    /** Null: it failed. */
    [[nodiscard]] Answer const* answer() const noexcept { return std::get_if<Answer>(&outcome); }
    [[nodiscard]] std::string why() const { return std::get<Failure>(outcome).detail; }
};

store::Step<Asked> try_query(ClientPtr const& client, std::string_view text, Deadline const& not_after)
{
    auto query = client->query(text, {}, not_after);
    query.alone = true;
    return store::Step<Asked>([client, query = std::move(query)](OneShot<void(Asked&&)> handler) mutable {
        auto const begun = client->runtime()->now();
        client->send(std::move(query), [client, begun, handler = std::move(handler)](Outcome&& outcome) mutable {
            handler(Asked{std::move(outcome), client->runtime()->now() - begun});
        });
    });
}

} // namespace

store::Request<Findings> examine(ClientPtr client, std::chrono::milliseconds ttl, Deadline not_after)
{
    Findings findings;
    std::vector<std::chrono::nanoseconds> times;
    while (times.size() <= round_trips) {
        auto trip = try_query(client, "SELECT 1", not_after);
        auto const done = co_await trip;
        if (done.answer() == nullptr) {
            findings.push_back(
                {Severity::error, "connection", done.why(), "check address, user and database; run tenure init"});
            co_return findings;
        }
        times.push_back(done.took);
    }
    // the first one connects
    times.erase(times.begin());
    findings.push_back(judge_round_trips(std::move(times), ttl));
    auto marking = try_query(client, "SELECT tenure.wait('{tenure doctor}', 1)", not_after);
    auto const marked = co_await marking;
    findings.push_back(
        marked.answer() == nullptr
            ? Finding{Severity::error, "permissions", marked.why(), "leases cannot be acquired before that"}
            : finding(
                  marked.took * 10 <= ttl, Severity::warning, "write",
                  "a commit takes " + milliseconds_and_tenths(marked.took), "use a longer ttl, or a faster disk"));
    auto const line = client->connection();
    bool const pooled = line != nullptr && line->pooled();
    findings.push_back(finding(
        !pooled || client->config()->listen.has_value(), Severity::warning, "wake-ups",
        pooled ? "a pooler stands between" : "by LISTEN", "waiters poll: add listen=HOST:PORT of the server itself"));
    auto asking = try_query(client, settings, not_after);
    auto const facts = co_await asking;
    if (facts.answer() == nullptr) {
        findings.push_back({Severity::unverified, "settings", facts.why(), "let the user read pg_stat views"});
        co_return findings;
    }
    auto const& rows = facts.answer()->result;
    for (int row = 0; row < rows.rows(); ++row) {
        auto const otherwise = rows.text(2, row).empty()  ? Severity::unverified
                               : rows.text(3, row) == "w" ? Severity::warning
                                                          : Severity::error;
        findings.push_back(finding(
            rows.text(2, row) == "t", otherwise, std::string(rows.text(0, row)), std::string(rows.text(1, row)),
            std::string(rows.text(4, row))));
    }
    co_return findings;
}

} // namespace tenure::postgresql
