// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The store on PostgreSQL behind a pooler: wake-ups, and answers that are another client's.
#include "harness/fault_proxy.hpp"
#include "system/postgresql/database.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;

TEST_CASE("waiters behind a pooler poll, unless the server itself is named", "[postgresql]")
{
    require_pgbouncer();
    Database database;
    PgBouncer const pooler(database.server.port());
    auto config = Database::config(pooler.port());
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    auto const watch_with = [&](Client& client) {
        client.on_strand([&] {
            watch = client.backend().watch(
                named_key("key"), WatchAs::waiter, [&](WatchEvent event) { events.push_back(event); });
        });
        client.run_until([&] { return !events.empty(); });
        client.on_strand([&] { watch.reset(); });
        return std::exchange(events, {}).front();
    };
    Client polling(Database::connect(config));
    CHECK(watch_with(polling) == WatchEvent::unavailable);
    config.listen = Endpoint{"127.0.0.1", database.server.port()};
    Client listening(Database::connect(config));
    CHECK(watch_with(listening) == WatchEvent::in_force);
}

TEST_CASE("answers that a pooler has left from another client are not believed", "[postgresql][pg_believes_pooler]")
{
    require_pgbouncer();
    Database database;
    PgBouncer const pooler(database.server.port());
    Client client(Database::connect(Database::config(pooler.port())));
    expect<Ready>(client.ready());
    PostgresqlPerson(pooler.port())
        .leave_between(
            "SELECT 1",
            {"SELECT 'G' AS code, 0 AS index, 7 AS token, 0 AS earliest FROM pg_sleep(0.5)", "SELECT 'another''s'"});
    auto const reply = client.claim(database.request(named_key("key"), 1));
    // without that fault of PgBouncer 1.18 the answer is the right one
    if (auto const* const granted = std::get_if<Granted>(&reply))
        CHECK(
            std::to_string(granted->fencing_token) ==
            database.person.word("SELECT token FROM tenure.lease WHERE key = 'key'"));
    else
        CHECK(expect_unknown(reply).error == errc::protocol_error);
    expect<Granted>(client.claim(database.request(named_key("other"), 2)));
    CHECK(database.owner_of("other") == owner(2));
}

TEST_CASE(
    "behind a pooler no transaction is sent before the last one is answered",
    "[postgresql][pg_two_transactions_behind_pooler]")
{
    require_pgbouncer();
    Database database;
    PgBouncer const pooler(database.server.port());
    FaultProxy way(pooler.port());
    Client client(Database::connect(Database::config(way.port())));
    auto const key = named_key("key");
    auto const claim = claim_of(key, owner(1), expect<Granted>(client.claim(database.request(key, 1))));
    way.set(Direction::replies, {.kind = Fault::Kind::hold});
    way.set_when(Direction::requests, "tenure.announce", Direction::requests, {});
    std::optional<ReleaseReply> reply;
    client.on_strand([&] {
        client.backend().release({claim, client.now() + 10s}, [&](ReleaseReply answer) { reply = std::move(answer); });
    });
    client.run_for(300ms);
    CHECK_FALSE(way.wait_seen(0ms));
    way.set(Direction::replies, {});
    client.run_until([&] { return reply.has_value(); });
    expect<Released>(*reply);
    client.run_until([&] { return way.wait_seen(0ms); });
}
