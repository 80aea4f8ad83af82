// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One PostgreSQL server for all test cases. TENURE_POSTGRESQL_BY says how it is reached: directly, through PgBouncer in
// transaction mode (pooler), or with a standby that each commit waits for (standby).
#include "conformance/proxied_subject.hpp"
#include "harness/immovable.hpp"
#include "harness/postgresql_server.hpp"

#include "store/postgresql/backend.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::test
{

namespace
{

struct Servers {
    std::string_view by = std::getenv("TENURE_POSTGRESQL_BY") == nullptr ? "" : std::getenv("TENURE_POSTGRESQL_BY");
    PostgresqlServer primary;
    std::unique_ptr<PostgresqlServer> standby;
    std::unique_ptr<PgBouncer> pooler;

    Servers()
    {
        if (by == "pooler") {
            pooler = std::make_unique<PgBouncer>(primary.port());
        } else if (by == "standby") {
            standby = std::make_unique<PostgresqlServer>(primary);
            PostgresqlPerson person(primary.port());
            person.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
            person.ask("SELECT pg_reload_conf()");
        }
    }
    [[nodiscard]] std::uint16_t port() const { return pooler ? pooler->port() : primary.port(); }
};

class PostgresqlSubject final : public ProxiedSubject, Immovable
{
public:
    PostgresqlSubject() { add_proxy(servers().port()); }
    ~PostgresqlSubject() override = default;

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return postgresql::make_backend(std::move(runtime), settings(servers().port()));
    }
    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        return postgresql::make_backend(std::move(runtime), settings(proxies().front()->port()));
    }

    // several requests fit into it even where the server waits for a processor
    std::chrono::milliseconds short_ttl() const override { return std::chrono::seconds{1}; }

    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        person_.ask(
            "INSERT INTO tenure.lease VALUES ($1, NULL, NULL, $2, 1, clock_timestamp(), "
            "clock_timestamp() + $3::int * interval '1 ms') "
            "ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, until = excluded.until",
            {key, value, std::to_string(ttl.count())});
    }
    void erase(std::string const& key) override { person_.ask("DELETE FROM tenure.lease WHERE key = $1", {key}); }
    std::optional<std::string> value(std::string const& key) override
    {
        auto const rows =
            person_.ask("SELECT owner FROM tenure.lease WHERE key = $1 AND until > clock_timestamp()", {key});
        return rows.empty() ? std::nullopt : std::optional(rows[0][0]);
    }

private:
    static Servers& servers()
    {
        static Servers all;
        return all;
    }
    /** With wake-ups from the server itself, where a pooler stands between. */
    static PostgresqlConfig settings(std::uint16_t port)
    {
        PostgresqlConfig config;
        config.endpoints = {{"127.0.0.1", port}};
        config.database = config.username = "postgres";
        config.create = true;
        if (servers().pooler)
            config.listen = Endpoint{"127.0.0.1", servers().primary.port()};
        return config;
    }

    PostgresqlPerson person_{servers().primary.port()};
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_postgresql();
    return std::make_unique<test::PostgresqlSubject>();
}
