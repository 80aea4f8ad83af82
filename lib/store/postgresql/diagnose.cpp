// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Examination of a server for leases.
#include "operations.hpp"

#include <store/diagnosis.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::postgresql
{

namespace
{

using Severity = Finding::Severity;

constexpr int round_trips = 5;
constexpr std::int64_t oldest_server = 130'000;
/// a promoted standby whose clock is ahead frees keys early; the pause of leases covers less than this
constexpr std::int64_t most_clock_skew_ms = 100;

constexpr std::string_view settings =
    "SELECT current_setting('server_version_num'), current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "
    "current_setting('autovacuum'), current_setting('idle_in_transaction_session_timeout'), "
    "coalesce((SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()), false), "
    "coalesce(inet_client_addr() << '127.0.0.0/8' OR inet_client_addr() = '::1', true), "
    "coalesce((SELECT s.n_dead_tup FROM pg_stat_all_tables s WHERE s.relid = 'tenure.lease'::regclass), 0), "
    "coalesce((SELECT s.n_live_tup FROM pg_stat_all_tables s WHERE s.relid = 'tenure.lease'::regclass), 0)";

/// `reply_time` is the standby's own clock; a commit just before makes it fresh
constexpr std::string_view standbys =
    "SELECT application_name, sync_state, round(extract(epoch FROM reply_time - clock_timestamp()) * 1000) "
    "FROM pg_stat_replication ORDER BY 1";

/** Any outcome of a query: a failure is a finding. */
struct Asked {
    Outcome outcome;
    std::chrono::nanoseconds took;

    [[nodiscard]] Result const* result() const noexcept
    {
        auto const* const answer = std::get_if<Answer>(&outcome);
        return answer == nullptr ? nullptr : &answer->result;
    }
};

store::Step<Asked> try_query(ClientPtr const& client, Statement statement, Deadline const& not_after)
{
    Query query;
    query.statement = std::move(statement);
    query.not_after = not_after;
    query.alone = true;
    return store::Step<Asked>([client, query = std::move(query)](OneShot<void(Asked&&)> handler) mutable {
        auto const begun = client->runtime().now();
        client->send(std::move(query), [client, begun, handler = std::move(handler)](Outcome&& outcome) mutable {
            handler(Asked{std::move(outcome), client->runtime().now() - begun});
        });
    });
}

/** Likewise. */
struct Rights {
    ReadyReply reply;
};

store::Step<Rights> try_ready(ClientPtr const& client, Deadline const& not_after)
{
    return store::Step<Rights>([client, not_after](OneShot<void(Rights&&)> handler) {
        ready(client, not_after).start([handler = std::move(handler)](ReadyReply&& reply) mutable {
            handler(Rights{std::move(reply)});
        });
    });
}

/** An `ok` finding if `well`; otherwise one of the given severity, with advice. */
Finding finding(bool well, Severity otherwise, std::string subject, std::string observed, std::string advice)
{
    return {well ? Severity::ok : otherwise, std::move(subject), std::move(observed), well ? "" : std::move(advice)};
}

void judge_settings(Result const& facts, Findings& findings)
{
    auto const is = [&facts](int column, std::string_view value) { return facts.text(column) == value; };
    auto const text = [&facts](int column) { return std::string(facts.text(column)); };
    auto const version = facts.number(0).value_or(0);
    findings.push_back(finding(
        version >= oldest_server, Severity::error, "version", "PostgreSQL " + std::to_string(version / 10'000),
        "leases need PostgreSQL 13 or newer"));
    findings.push_back(finding(
        is(1, "on") && is(2, "on"), Severity::error, "durability", "fsync " + text(1) + ", full_page_writes " + text(2),
        "a crash may undo grants, and two holders follow: set both to on"));
    findings.push_back(finding(
        !is(3, "off") && !is(3, "local"), Severity::warning, "synchronous_commit", text(3),
        "tenure sets it to on for its own transactions; your guarded writes may be lost by a crash"));
    findings.push_back(finding(
        !is(4, ""), Severity::warning, "synchronous standbys", is(4, "") ? "none" : text(4),
        "if another server is promoted that has missed a grant, two holders follow: set synchronous_standby_names, and "
        "promote such a standby only"));
    findings.push_back(finding(
        is(5, "on"), Severity::error, "autovacuum", text(5), "each renewal leaves a dead row: set autovacuum to on"));
    auto const dead = facts.number(9).value_or(0);
    findings.push_back(finding(
        dead <= 100'000, Severity::warning, "dead rows", text(9) + " beside " + text(10) + " live ones",
        "an old transaction or replication slot keeps vacuum from removing them, and each request becomes slower: look "
        "for it in pg_stat_activity and pg_replication_slots"));
    findings.push_back(finding(
        !is(6, "0"), Severity::warning, "idle_in_transaction_session_timeout", is(6, "0") ? "unlimited" : text(6),
        "a transaction that hangs after tenure.guard keeps its key taken: set a limit"));
    findings.push_back(finding(
        is(7, "t") || is(8, "t"), Severity::warning, "TLS", is(7, "t") ? "on" : is(8, "t") ? "off, on this machine" : "off",
        "owners and passwords travel in the clear: add sslmode=verify-full to the URL"));
}

void judge_standbys(Result const& rows, Findings& findings)
{
    for (int row = 0; row < rows.rows(); ++row) {
        auto const ahead = rows.number(2, row);
        Finding one{Severity::unverified, "clock of standby " + std::string(rows.text(0, row)), "not visible to this user",
                    "grant pg_monitor to the user, and run the doctor again"};
        if (ahead)
            one = finding(
                *ahead <= most_clock_skew_ms, Severity::error, one.subject,
                std::string(rows.text(1, row)) + ", " + std::to_string(*ahead) + " ms after this server's",
                "promoted, it would free keys before their ttl: synchronise the clocks");
        findings.push_back(std::move(one));
    }
}

} // namespace

store::Request<Findings> examine(ClientPtr client, std::chrono::milliseconds ttl, Deadline not_after)
{
    Findings findings;
    auto asking = try_query(client, {client->sql(settings)}, not_after);
    auto const facts = co_await asking;
    auto const* const failure = std::get_if<Failure>(&facts.outcome);
    if (failure != nullptr) {
        findings.push_back(
            {Severity::error, "connection", failure->detail.empty() ? "no time left" : failure->detail,
             "check address, user and database, and run tenure init if the schema is missing"});
        co_return findings;
    }
    judge_settings(*facts.result(), findings);

    auto checking = try_ready(client, not_after);
    auto const rights = co_await checking;
    auto const* const refused = std::get_if<Failure>(&rights.reply);
    findings.push_back(finding(
        refused == nullptr, Severity::error, "permissions",
        refused == nullptr ? "this user may use the schema" : refused->detail, "leases cannot be acquired before that"));

    auto const line = client->connection();
    bool const pooled = line != nullptr && line->pooled();
    findings.push_back(finding(
        !pooled || client->config()->listen.has_value() || !client->config()->notifications, Severity::warning,
        "wake-ups", pooled ? "a pooler stands between" : "LISTEN on the connection of the requests",
        "waiters poll: name the server itself in the URL, listen=HOST:PORT"));

    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < round_trips; ++i) {
        auto trip = try_query(client, {"SELECT 1"}, not_after);
        auto const done = co_await trip;
        times.push_back(done.took);
    }
    findings.push_back(judge_round_trips(std::move(times), ttl));
    auto marking = try_query(client, {client->sql("SELECT tenure.wait('{tenure doctor}', 1)")}, not_after);
    auto const marked = co_await marking;
    findings.push_back(finding(
        marked.result() != nullptr && marked.took * 10 <= ttl, Severity::warning, "write",
        marked.result() == nullptr ? "refused" : "a commit takes " + milliseconds_and_tenths(marked.took),
        "renewals need it within a tenth of the ttl of " + std::to_string(ttl.count()) + " ms: a faster disk, or a "
        "longer ttl"));
    auto looking = try_query(client, {std::string(standbys)}, not_after);
    auto const seen = co_await looking;
    if (seen.result() != nullptr)
        judge_standbys(*seen.result(), findings);
    co_return findings;
}

} // namespace tenure::postgresql
