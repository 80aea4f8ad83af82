// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a grant of the store on PostgreSQL rests on: when its time begins, what it has written, and its token; and what
// hints and the sweep of old rows may do beside it.
#include "system/postgresql/database.hpp"

#include "harness/fault_proxy.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** Writes of rows with such a key take 300 ms. */
void slow_down(Database& database, std::string const& key, std::string const& when)
{
    database.person.ask(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.key = '" +
        key + "' THEN PERFORM pg_sleep(0.3); END IF; RETURN NEW; END $$");
    database.person.ask("CREATE TRIGGER slow BEFORE " + when + " ON tenure.lease FOR EACH ROW EXECUTE FUNCTION slow()");
}

/** A watch and its events. */
class Listener
{
public:
    Listener(Client& client, KeyRangePtr range)
        : client_(client)
    {
        client_.on_strand([&] {
            watch_ = client_.backend().watch(
                std::move(range), WatchAs::waiter, [this](WatchEvent event) { events_.push_back(event); });
        });
    }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    ~Listener()
    {
        client_.on_strand([&] { watch_.reset(); });
    }

    void expect(WatchEvent wanted)
    {
        client_.run_until([&] { return std::ranges::find(events_, wanted) != events_.end(); });
        events_.clear();
    }
    [[nodiscard]] bool got(WatchEvent wanted) const { return std::ranges::find(events_, wanted) != events_.end(); }

private:
    Client& client_;
    std::vector<WatchEvent> events_;
    std::unique_ptr<Watch> watch_;
};

} // namespace

TEST_CASE("the time of a grant begins before it is sent", "[postgresql][pg_counts_from_answer]")
{
    Database database;
    slow_down(database, "key", "INSERT");
    auto const before = database.client.now();
    auto const granted = expect<Granted>(database.client.claim(database.request(named_key("key"), 1)));
    CHECK(database.client.now() - before >= 300ms);
    CHECK(granted.since >= before);
    CHECK(granted.since - before < 200ms);
}

TEST_CASE("the time of a grant that was sent again begins then", "[postgresql][pg_old_since]")
{
    Database database;
    slow_down(database, "slow", "INSERT");
    database.person.ask("ALTER TABLE tenure.lease ADD CHECK (key <> 'poison')");
    auto const before = database.client.now();
    auto const replies = database.client.ask_together(
        &Backend::claim, std::vector{database.request(named_key("slow"), 1), database.request(named_key("poison"), 2)});
    auto const granted = expect<Granted>(replies[0]);
    expect_refused(replies[1]);
    CHECK(granted.since - before >= 300ms);
}

TEST_CASE("no key is granted again before its ttl has passed", "[postgresql][pg_early_expiry]")
{
    Database database;
    auto const range = named_key("key");
    auto request = database.request(range, 1);
    request.ttl = 1s;
    auto const first = expect<Granted>(database.client.claim(request));
    for (;;) {
        auto const reply = database.client.claim(database.request(range, 2));
        if (auto const* const next = std::get_if<Granted>(&reply)) {
            CHECK(next->since - first.since >= 900ms);
            CHECK(database.client.now() - first.since >= 1s);
            break;
        }
        database.client.run_for(10ms);
    }
}

TEST_CASE("an owner that claims again is granted by a write", "[postgresql][pg_found_own_unwritten]")
{
    Database database;
    auto const range = GENERATE(named_key("key"), numbered_keys("pool:", 3));
    auto const claim = database.take(range, 1);
    auto const version = [&] {
        return database.person.word("SELECT xmin || ' ' || until FROM tenure.lease WHERE owner <> ''");
    };
    auto const before = version();
    auto again = database.request(range, 1);
    again.earliest_attempt = database.client.now() - 1s;
    CHECK(expect<Granted>(database.client.claim(again)).fencing_token == claim->fencing_token);
    CHECK(version() != before);
}

TEST_CASE("tokens rise although the row was lost", "[postgresql][pg_token_by_count]")
{
    Database database;
    auto const range = named_key("key");
    std::uint64_t last = 0;
    for (unsigned round = 1; round < 4; ++round) {
        auto const claim = database.take(range, round);
        CHECK(claim->fencing_token > last);
        last = claim->fencing_token;
        expect<Released>(database.client.release(claim));
        auto const second = database.take(range, 10 + round);
        CHECK(second->fencing_token > last);
        last = second->fencing_token;
        database.person.ask("DELETE FROM tenure.lease");
    }
}

TEST_CASE(
    "a commit of the store waits for the disk where those of its user do not", "[postgresql][pg_commit_not_raised]")
{
    Database database;
    database.person.ask("CREATE TABLE seen (how text)");
    database.person.ask("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                        "INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$");
    // runs at the commit
    database.person.ask("CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON tenure.lease DEFERRABLE INITIALLY "
                        "DEFERRED FOR EACH ROW EXECUTE FUNCTION note()");
    database.person.ask("ALTER ROLE postgres SET synchronous_commit = off");
    Client client(Database::connect(database.server.port()));
    auto const range = named_key("key");
    auto const granted = expect<Granted>(client.claim(database.request(range, 1)));
    auto const claim = claim_of(range, owner(1), granted);
    expect<Renewed>(client.renew(claim, 5s));
    expect<Released>(client.release(claim));
    auto const claimed_again = expect<Granted>(client.claim(database.request(range, 2)));
    expect<Evicted>(client.evict(range, 0, owner(2)));
    CHECK(database.person.word("SELECT string_agg(how, ' ') FROM seen") == "on on on on on");
}

TEST_CASE("requests run at READ COMMITTED, whatever the default of the user", "[postgresql][pg_isolation_of_user]")
{
    Database database;
    database.person.ask("CREATE TABLE public.seen (how text)");
    database.person.ask(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO public.seen VALUES (current_setting('transaction_isolation')); RETURN NULL; END $$");
    database.person.ask(
        "CREATE TRIGGER note AFTER INSERT OR UPDATE ON tenure.lease FOR EACH ROW EXECUTE FUNCTION note()");
    for (std::string const level : {"repeatable read", "serializable"}) {
        database.person.ask("ALTER ROLE postgres SET default_transaction_isolation = '" + level + "'");
        Client client(Database::connect(database.server.port()));
        expect<Granted>(client.claim(database.request(named_key(level), 1)));
    }
    CHECK(database.person.word("SELECT string_agg(how, ', ') FROM seen") == "read committed, read committed");
}

TEST_CASE("a waiter gets its hint after the release has been committed", "[postgresql][pg_hint_before_release]")
{
    Database database;
    slow_down(database, "key", "UPDATE");
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    Client waiting(Database::connect(database.server.port()));
    Listener listener(waiting, range);
    listener.expect(WatchEvent::in_force);
    std::optional<ReleaseReply> released;
    database.client.on_strand([&] {
        database.client.backend().release(
            {claim, database.client.now() + 10s, true}, [&](ReleaseReply reply) { released = std::move(reply); });
    });
    std::thread releasing([&] { database.client.run_until([&] { return released.has_value(); }); });
    listener.expect(WatchEvent::hint);
    // a look that waits for nothing
    CHECK(database.owner_of("key").empty());
    releasing.join();
    expect<Released>(*released);
}

TEST_CASE("each release after a watch is in force gives a hint", "[postgresql][pg_watch_in_force_early]")
{
    Database database;
    Client waiting(Database::connect(database.server.port()));
    for (unsigned round = 0; round < 5; ++round) {
        auto const range = named_key("key" + std::to_string(round));
        auto const claim = database.take(range, 1);
        Listener listener(waiting, range);
        listener.expect(WatchEvent::in_force);
        expect<Released>(database.client.release(claim));
        listener.expect(WatchEvent::hint);
    }
}

TEST_CASE("a watch whose connection is lost says so, and is in force again", "[postgresql]")
{
    Database database;
    FaultProxy proxy(database.server.port());
    auto config = Database::config(database.server.port());
    config.listen = Endpoint{"127.0.0.1", proxy.port()};
    config.reconnect_backoff = 100ms;
    Client waiting(Database::connect(config));
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    Listener listener(waiting, range);
    listener.expect(WatchEvent::in_force);
    proxy.reset_connections();
    listener.expect(WatchEvent::interrupted);
    listener.expect(WatchEvent::in_force);
    expect<Released>(database.client.release(claim));
    listener.expect(WatchEvent::hint);
}

TEST_CASE("the sweep deletes rows that nobody has used for a week, and no others", "[postgresql][pg_sweeps_held]")
{
    Database database;
    constexpr unsigned keys = 300;
    database.person.ask("INSERT INTO tenure.lease SELECT 'old:' || n, 'old:', n, '', 1, now() - interval '8 days', "
                        "'-infinity' FROM generate_series(0, 1299) n");
    // a lease that has been renewed for longer than a week, and a row that is no lease
    auto const held = database.take(named_key("held"), 1);
    database.person.ask("UPDATE tenure.lease SET since = now() - interval '8 days' WHERE key = 'held'");
    database.person.ask(
        "INSERT INTO tenure.lease VALUES ('mine', NULL, NULL, 'me', 1, now() - interval '8 days', 'infinity')");
    (void)database.take(named_key("young"), 2);
    std::atomic<bool> stopping = false;
    std::thread sweeping([&] {
        PostgresqlPerson person(database.server.port());
        while (!stopping)
            person.ask("SELECT tenure.sweep()");
    });
    std::vector<ClaimPtr> claims;
    auto const pool = numbered_keys("old:", 1300);
    for (unsigned i = 0; i < keys; ++i)
        claims.push_back(database.take(pool, 100 + i));
    stopping = true;
    sweeping.join();
    std::set<std::string> taken;
    for (unsigned i = 0; i < keys; ++i) {
        CHECK(taken.insert(claims[i]->key()).second);
        CHECK(database.owner_of(claims[i]->key()) == owner(100 + i));
        CHECK(claims[i]->fencing_token > 1);
    }
    CHECK(database.person.word("SELECT count(*) FROM tenure.lease WHERE key LIKE 'old:%'") == std::to_string(keys));
    expect<Renewed>(database.client.renew(held, 5s));
    CHECK(database.person.word("SELECT count(*) FROM tenure.lease WHERE key IN ('mine', 'young')") == "2");
}

TEST_CASE("a guard in an old transaction sees that the lease has expired", "[postgresql][guard][pg_guard_by_now]")
{
    Database database;
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    expect<Renewed>(database.client.renew(claim, 300ms));
    database.person.ask("BEGIN");
    database.person.ask("SELECT 1");
    database.client.run_for(400ms);
    CHECK(database.person.code_of("SELECT tenure.guard('key', $1)", {std::to_string(claim->fencing_token)}) == "TN001");
    database.person.ask("ROLLBACK");
}
