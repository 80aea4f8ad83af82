// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "postgresql_under_attack.hpp"

#include "harness/auditor.hpp"
#include "harness/eventually.hpp"

#include <tenure/open_store.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <ostream>
#include <stdexcept>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

constexpr std::size_t ways = 3;

/** Makes the schema. */
void install(std::string const& url)
{
    boost::asio::io_context context;
    auto const store = open_store(context.get_executor(), url, {.log = silent_log_sink()});
    error_code outcome;
    store.async_ready(20s, [&](error_code error) {
        outcome = error;
        store.async_close(1s, [](error_code) {});
    });
    context.run();
    if (outcome)
        throw std::runtime_error("PostgreSQL: " + outcome.message());
}

} // namespace

PostgresqlUnderAttack::PostgresqlUnderAttack(Arena const& arena, bool pooled)
    : arena_(arena)
    , clock_(directory_.file("wall-clock"))
{
    test::give_to_servers(directory_.path());
    test::give_to_servers(directory_.file("wall-clock"));
    // so small that the log that it keeps does not fill the disk
    test::PostgresqlOptions options;
    options.settings = {"max_wal_size=48MB", "min_wal_size=32MB", "wal_keep_size=32MB"};
    options.environment = clock_.environment();
    options.disk = "240m";
    servers_[0] = std::make_unique<test::PostgresqlServer>(options);
    install(primary().url());
    test::PostgresqlPerson person(primary().port());
    GuardedWriters::install(person);
    std::string database = "host=127.0.0.1 port=" + std::to_string(primary().port());
    if (pooled) {
        pooler_ = std::make_unique<test::PgBouncer>(primary().port());
        networks_.push_back(std::make_unique<Network>(pooler_->port(), ways));
        database = "host=127.0.0.1 port=" + std::to_string(pooler_->port());
    } else {
        servers_[1] = std::make_unique<test::PostgresqlServer>(primary(), options);
        wait_for_standby(true);
        for (auto const& server : servers_)
            networks_.push_back(std::make_unique<Network>(server->port(), ways));
        database = "host=127.0.0.1,127.0.0.1 port=" + std::to_string(servers_[0]->port()) + "," +
                   std::to_string(servers_[1]->port()) + " target_session_attrs=read-write";
    }
    writers_.emplace(GuardedWriters::Setup{
        url(0), database + " user=postgres dbname=postgres connect_timeout=2 gssencmode=disable", arena_.ttl, 7});
}

std::string PostgresqlUnderAttack::url(std::size_t worker) const
{
    std::string hosts;
    for (auto const& network : networks_)
        hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(network->port(worker)));
    return "postgresql://postgres@" + hosts + "/postgres";
}

std::unique_ptr<test::PostgresqlPerson> PostgresqlUnderAttack::person_at(test::PostgresqlServer const& server)
{
    std::unique_ptr<test::PostgresqlPerson> person;
    auto const comes = [&] {
        try {
            person = std::make_unique<test::PostgresqlPerson>(server.port());
        } catch (std::runtime_error const&) {
            // it recovers
        }
        return person != nullptr;
    };
    if (!test::eventually(comes, 30s, 50ms))
        throw std::runtime_error("PostgreSQL does not serve:\n" + server.log());
    return person;
}

void PostgresqlUnderAttack::tell(std::string const& sql)
{
    person_at(primary())->ask(sql);
}

void PostgresqlUnderAttack::wait_for_standby(bool waits)
{
    tell(std::string("ALTER SYSTEM SET synchronous_standby_names = '") + (waits ? "standby'" : "'"));
    tell("SELECT pg_reload_conf()");
}

std::optional<std::vector<KeyLook>> PostgresqlUnderAttack::look()
try {
    if (in_doubt_)
        return std::nullopt;
    auto const at = primary_.load();
    if (!looking_ || looking_at_ != at) {
        looking_ = std::make_unique<test::PostgresqlPerson>(servers_[at]->port());
        looking_at_ = at;
    }
    auto const offset = clock_.offset();
    auto const ahead = clock_.ahead_of_boottime();
    auto const rows =
        looking_->ask("SELECT key, until = 'infinity', CASE WHEN isfinite(until) THEN (extract(epoch FROM until) * "
                      "1000000000)::bigint "
                      "END, token FROM tenure.lease WHERE until > clock_timestamp() AND key LIKE 'faults:%'");
    if (in_doubt_ || primary_ != at || clock_.offset() != offset)
        return std::nullopt;
    std::vector<KeyLook> keys(arena_.cells());
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        for (auto const& row : rows) {
            if (row[0] != arena_.key(cell))
                continue;
            keys[cell].held = true;
            keys[cell].endless = row[1] == "t";
            keys[cell].expiry = keys[cell].endless ? 0 : std::stoll(row[2]) - ahead;
            keys[cell].fencing_token = std::stoull(row[3]);
        }
    return keys;
} catch (std::exception const&) {
    // killed or starting: there is nothing to see
    looking_.reset();
    return std::nullopt;
}

std::int64_t PostgresqlUnderAttack::expiry_delay(std::int64_t now) const
{
    auto const left = jumped_back_ + std::chrono::nanoseconds{10s}.count() - now;
    return jumped_back_ != 0 && left > 0 ? left : 0;
}

std::vector<std::string> PostgresqlUnderAttack::endless_keys()
{
    std::vector<std::string> keys;
    for (auto const& row : person_at(primary())->ask("SELECT key FROM tenure.lease WHERE until = 'infinity'"))
        keys.push_back(row[0]);
    return keys;
}

void PostgresqlUnderAttack::finish(Ledger& ledger, std::ostream& figures)
{
    writers_->end();
    writers_->judge(*person_at(primary()), ledger, figures);
}

} // namespace tenure::faults
