// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the requests of the store on PostgreSQL have that the conformance suite does not ask of every store: batches,
// locked rows, keys of several pools, standbys, and what the server refuses.
#include "system/postgresql/database.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <set>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

std::vector<ClaimReply> claim_together(Database& database, std::vector<std::string> const& keys)
{
    std::vector<ClaimRequest> requests;
    for (auto const& key : keys)
        requests.push_back(database.request(named_key(key), static_cast<unsigned>(requests.size())));
    return database.client.ask_together(&Backend::claim, requests);
}

/** Lets the server refuse rows with the key "poison": at once, or at the commit. */
void poison(Database& database, std::string const& when)
{
    database.person.ask("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                        "IF NEW.key = 'poison' THEN RAISE EXCEPTION 'poisoned' USING ERRCODE = '23514'; END IF; "
                        "RETURN NULL; END $$");
    database.person.ask(
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON tenure.lease " + when +
        " FOR EACH ROW EXECUTE FUNCTION refuse()");
}

} // namespace

TEST_CASE(
    "a request that the server refuses does not refuse those of its batch", "[postgresql][pg_answers_before_sync]")
{
    Database database;
    SECTION("at once")
    {
        poison(database, "");
    }
    SECTION("at the commit, when the server has answered all of them")
    {
        poison(database, "DEFERRABLE INITIALLY DEFERRED");
    }
    auto const replies = claim_together(database, {"a", "poison", "b"});
    expect<Granted>(replies[0]);
    CHECK_THAT(expect_refused(replies[1]).detail, ContainsSubstring("poisoned (23514)"));
    expect<Granted>(replies[2]);
    CHECK(database.owner_of("a") == owner(0));
    CHECK(database.owner_of("poison").empty());
    CHECK(database.owner_of("b") == owner(2));
}

TEST_CASE("a key that is no UTF-8 is refused before it is sent", "[postgresql][pg_any_bytes_sent]")
{
    Database database;
    auto const replies = claim_together(database, {"a", "\xc3\x28", "b"});
    expect<Granted>(replies[0]);
    CHECK(expect_refused(replies[1]).fatal);
    expect<Granted>(replies[2]);
}

TEST_CASE("claims are exclusive in a database whose transactions are serializable", "[postgresql]")
{
    Database database;
    database.person.ask("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
    Client first(Database::connect(database.server.port()));
    Client second(Database::connect(database.server.port()));
    auto const range = numbered_keys("pool:", 40);
    std::set<std::uint32_t> taken;
    for (unsigned round = 0; round < 4; ++round)
        for (auto* const client : {&first, &second}) {
            std::vector<ClaimRequest> requests;
            for (unsigned i = 0; i < 5; ++i)
                requests.push_back(database.request(range, 100 * round + 10 * (client == &first ? 0 : 1) + i));
            for (auto const& reply : client->ask_together(&Backend::claim, requests))
                CHECK(taken.insert(expect<Granted>(reply).index).second);
        }
    CHECK(taken.size() == 40);
}

TEST_CASE("a row that never expires is no lease", "[postgresql]")
{
    Database database;
    database.person.ask("INSERT INTO tenure.lease VALUES ('key', NULL, NULL, 'me', 1, clock_timestamp(), 'infinity')");
    auto const range = named_key("key");
    CHECK(expect<Busy>(database.client.claim(database.request(range, 1))).never_frees);
    CHECK(expect<std::vector<KeyState>>(database.client.inspect(range)).at(0).kind == KeyState::Kind::foreign);
    CHECK(expect_refused(database.client.evict(range, 0, "me")).error == errc::key_conflict);
    expect<NotOwner>(database.client.renew(claim_of(range, "me", Granted()), 5s));
}

TEST_CASE("a slot and a lock with its name are one key, and so are slots of two prefixes", "[postgresql]")
{
    Database database;
    auto const pool = numbered_keys("a", 16);
    auto const tail = std::make_shared<KeyRange const>(KeyRange{"a1", 2, 1, true});
    auto const lock = named_key("a12");
    auto const held = database.take(lock, 1);
    for (unsigned i = 0; i < 15; ++i)
        (void)database.take(pool, 10 + i);
    expect<Busy>(database.client.claim(database.request(pool, 2)));
    expect<Busy>(database.client.claim(database.request(tail, 3)));
    CHECK(expect<std::vector<KeyState>>(database.client.inspect(pool)).at(12).owner == owner(1));
    expect<Released>(database.client.release(held));
    auto const next = database.take(tail, 4);
    expect<Busy>(database.client.claim(database.request(pool, 5)));
    expect<Busy>(database.client.claim(database.request(lock, 6)));
    expect<Released>(database.client.release(next));
    CHECK(expect<Granted>(database.client.claim(database.request(pool, 7))).index == 12);
}

TEST_CASE("the first free number of a pool is found also in its later steps", "[postgresql]")
{
    Database database;
    auto const pool = numbered_keys("wide:", 600);
    auto const first_free = [&](unsigned number) {
        return expect<Granted>(database.client.claim(database.request(pool, number))).index;
    };
    auto const set_free = [&](std::string const& numbers) {
        database.person.ask("UPDATE tenure.lease SET until = '-infinity' WHERE number IN (" + numbers + ")");
    };
    database.person.ask("INSERT INTO tenure.lease SELECT 'wide:' || n, 'wide:', n, 'other', 1, now(), now() + "
                        "interval '1 hour' FROM generate_series(0, 599) n WHERE n <> 300");
    CHECK(first_free(1) == 300);
    CHECK(expect<Busy>(database.client.claim(database.request(pool, 2))).earliest_expiry.value() <= 20s);
    set_free("256, 599");
    CHECK(first_free(3) == 256);
    CHECK(first_free(4) == 599);
    // another one is being taken
    set_free("10, 511");
    database.person.ask("BEGIN");
    database.person.ask("SELECT FROM tenure.lease WHERE key = 'wide:10' FOR UPDATE");
    CHECK(first_free(5) == 511);
    CHECK(expect<Busy>(database.client.claim(database.request(pool, 6))).earliest_expiry.value() <= 20s);
    database.person.ask("ROLLBACK");
    CHECK(first_free(7) == 10);
}

TEST_CASE("claims that use keys for the first time at once never share one", "[postgresql]")
{
    Database database;
    Client other(Database::connect(database.server.port()));
    auto const range = numbered_keys("new:", 64);
    std::set<std::uint32_t> taken;
    std::vector<std::optional<ClaimReply>> replies(32);
    for (unsigned i = 0; i < 32; ++i) {
        auto& client = i % 2 == 0 ? database.client : other;
        client.on_strand([&] {
            client.backend().claim(
                database.request(range, i), [&slot = replies[i]](ClaimReply reply) { slot = std::move(reply); });
        });
    }
    for (unsigned i = 0; i < 32; ++i)
        (i % 2 == 0 ? database.client : other).run_until([&] { return replies[i].has_value(); });
    for (auto const& reply : replies)
        if (auto const* const granted = std::get_if<Granted>(&*reply))
            CHECK(taken.insert(granted->index).second);
    CHECK(taken.size() >= 16);
}

TEST_CASE("the first use of a key waits for no other one", "[postgresql][pg_first_use_unlocked]")
{
    Database database;
    database.person.ask("BEGIN");
    database.person.ask("SELECT * FROM tenure.claim('key', 0, 1, false, 'other', 20000, false)");
    CHECK_FALSE(expect<Busy>(database.client.claim(database.request(named_key("key"), 1))).never_frees);
    database.person.ask("ROLLBACK");
    expect<Granted>(database.client.claim(database.request(named_key("key"), 1)));
}

TEST_CASE("no request waits for a locked row", "[postgresql][pg_renew_waits]")
{
    Database database;
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    database.person.ask("BEGIN");
    database.person.ask("SELECT FROM tenure.lease WHERE key = 'key' FOR UPDATE");
    auto const before = database.client.now();
    CHECK_THAT(expect_refused(database.client.renew(claim, 5s)).detail, ContainsSubstring("its row is locked"));
    expect_refused(database.client.release(claim));
    expect_refused(database.client.withdraw(range, owner(1)));
    expect_refused(database.client.evict(range, 0, owner(1)));
    expect<Busy>(database.client.claim(database.request(range, 2)));
    CHECK(database.client.now() - before < 5s);
    database.person.ask("COMMIT");
    expect<Renewed>(database.client.renew(claim, 5s));
    expect<Released>(database.client.release(claim));
}

TEST_CASE(
    "a grant that the standby has not confirmed is not used, and a session that ends in the wait proves nothing",
    "[postgresql][pg_warning_ignored][pg_fatal_is_refusal]")
{
    Database database;
    database.person.ask("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'");
    database.person.ask("SELECT pg_reload_conf()");
    auto const waiting = [&] {
        return database.person.word("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    };
    // the server takes the setting over when it gets to it
    KeyRangePtr range;
    std::optional<ClaimReply> reply;
    for (int attempt = 0; attempt < 100 && waiting().empty(); ++attempt) {
        range = named_key("key" + std::to_string(attempt));
        reply.reset();
        database.client.on_strand([&] {
            database.client.backend().claim(
                database.request(range, 1), [&](ClaimReply answer) { reply = std::move(answer); });
        });
        database.client.run_until([&] { return reply.has_value() || !waiting().empty(); });
    }
    REQUIRE_FALSE(reply);
    SECTION("cancelled")
    {
        database.person.ask("SELECT pg_cancel_backend($1)", {waiting()});
        database.client.run_until([&] { return reply.has_value(); });
        CHECK(expect<Unconfirmed>(*reply).error == errc::not_replicated);
    }
    SECTION("ended")
    {
        database.person.ask("SELECT pg_terminate_backend($1)", {waiting()});
        database.client.run_until([&] { return reply.has_value(); });
        expect_unknown(*reply);
        database.person.ask("ALTER SYSTEM RESET synchronous_standby_names");
        database.person.ask("SELECT pg_reload_conf()");
        auto again = database.request(range, 1);
        again.earliest_attempt = database.client.now() - 5s;
        expect<Granted>(database.client.claim(again));
        CHECK(database.owner_of(range->key(0)) == owner(1));
    }
}

TEST_CASE("a standby is not used, and the primary among the hosts is found", "[postgresql][pg_standby_used]")
{
    Database database;
    PostgresqlServer const standby(database.server);
    auto config = Database::config(standby.port());
    config.create = false;
    Client alone(Database::connect(config));
    CHECK_THAT(
        expect_not_sent(alone.claim(database.request(named_key("key"), 1))).detail, ContainsSubstring("standby"));
    config.endpoints.push_back({"127.0.0.1", database.server.port()});
    Client both(Database::connect(config));
    expect<Granted>(both.claim(database.request(named_key("key"), 1)));
}

TEST_CASE("a missing schema and missing rights say what to do", "[postgresql]")
{
    Database database;
    auto config = Database::config(database.server.port());
    config.create = false;
    config.schema = "other";
    Client without(Database::connect(config));
    auto const& missing = expect_not_sent(without.ready());
    CHECK(missing.error == errc::wrong_server);
    CHECK(missing.fatal);
    CHECK_THAT(missing.detail, ContainsSubstring("no schema other") && ContainsSubstring("tenure init"));

    database.person.ask("CREATE ROLE worker LOGIN");
    config.schema = "tenure";
    config.username = "worker";
    Client stranger(Database::connect(config));
    auto const& refused = expect_not_sent(stranger.ready());
    CHECK(refused.error == errc::permission_denied);
    CHECK_THAT(refused.detail, ContainsSubstring("--role"));

    auto owner_config = Database::config(database.server.port());
    owner_config.roles = {"worker"};
    Client owner_client(Database::connect(owner_config));
    expect<Ready>(owner_client.ready());
    Client worker(Database::connect(config));
    expect<Ready>(worker.ready());
    expect<Granted>(worker.claim(database.request(named_key("key"), 1)));
    CHECK(std::holds_alternative<Failure>(worker.evict(named_key("key"), 0, owner(1))));
    PostgresqlPerson as_worker(database.server.port(), "user=worker dbname=postgres");
    CHECK(as_worker.code_of("SELECT * FROM tenure.lease") == "42501");
    CHECK(as_worker.code_of("UPDATE tenure.lease SET owner = ''") == "42501");
}
