// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// tenure.guard in transactions of a user.
#include "system/postgresql/database.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr char const* guard = "SELECT tenure.guard('key', $1)";

} // namespace

TEST_CASE("a guard passes under the lease alone", "[postgresql][guard][pg_guard_after_eviction]")
{
    Database database;
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    auto const token = std::to_string(claim->fencing_token);
    CHECK(database.person.code_of(guard, {token}).empty());
    CHECK(database.person.code_of(guard, {std::to_string(claim->fencing_token - 1)}) == "TN001");
    SECTION("not after the release")
    {
        expect<Released>(database.client.release(claim));
    }
    SECTION("not after an eviction")
    {
        expect<Evicted>(database.client.evict(range, 0, owner(1)));
    }
    SECTION("not after its expiry")
    {
        expect<Renewed>(database.client.renew(claim, 200ms));
        database.client.run_for(300ms);
    }
    SECTION("not when it was left to expire")
    {
        ReleaseRequest const keep{claim, database.client.now() + 10s, true, 20s};
        expect<Released>(database.client.ask_together(&Backend::release, std::vector{keep}).front());
    }
    CHECK(database.person.code_of(guard, {token}) == "TN001");
}

TEST_CASE(
    "no claim is granted before a guarded transaction ends, even if its lease is over",
    "[postgresql][guard][pg_weaker_lock]")
{
    Database database;
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    auto const token = std::to_string(claim->fencing_token);
    database.person.ask("BEGIN");
    database.person.ask(guard, {token});
    // renewals go on
    expect<Renewed>(database.client.renew(claim, 20s));
    SECTION("released")
    {
        expect<Released>(database.client.release(claim));
    }
    SECTION("expired")
    {
        expect<Renewed>(database.client.renew(claim, 200ms));
        database.client.run_for(300ms);
    }
    CHECK_FALSE(expect<Busy>(database.client.claim(database.request(range, 2))).earliest_expiry);
    database.person.ask("COMMIT");
    auto const next = expect<Granted>(database.client.claim(database.request(range, 2)));
    CHECK(next.fencing_token > claim->fencing_token);
    CHECK(database.person.code_of(guard, {token}) == "TN001");
}

TEST_CASE("an owner that claims again under its own guard is granted", "[postgresql][guard]")
{
    Database database;
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    database.person.ask("BEGIN");
    database.person.ask(guard, {std::to_string(claim->fencing_token)});
    auto again = database.request(range, 1);
    again.earliest_attempt = database.client.now() - 1s;
    CHECK(expect<Granted>(database.client.claim(again)).fencing_token == claim->fencing_token);
    database.person.ask("COMMIT");
}

TEST_CASE("a guard is right at every isolation level", "[postgresql][guard]")
{
    Database database;
    auto const range = named_key("key");
    auto const claim = database.take(range, 1);
    auto const token = std::to_string(claim->fencing_token);
    for (std::string const level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
        CAPTURE(level);
        database.person.ask("BEGIN ISOLATION LEVEL " + level);
        database.person.ask("SELECT count(*) FROM tenure.lease");
        expect<Renewed>(database.client.renew(claim, 20s));
        CHECK(database.person.code_of(guard, {token}).empty());
        database.person.ask("COMMIT");
    }
    database.person.ask("BEGIN ISOLATION LEVEL REPEATABLE READ");
    database.person.ask("SELECT count(*) FROM tenure.lease");
    expect<Released>(database.client.release(claim));
    (void)database.take(range, 2);
    CHECK(database.person.code_of(guard, {token}) == "40001");
    database.person.ask("ROLLBACK");
}
