// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What each of the server's errors says about a request: refused, or perhaps executed.
#include "system/postgresql/database.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

struct Meaning {
    std::string code;
    Failure::Effect effect;
    errc error = errc::store_refused;
    bool fatal = false;
};

} // namespace

TEST_CASE("each error of the server has its meaning", "[postgresql][pg_unknown_completion_refused]")
{
    Database database;
    database.person.ask("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                        "IF NEW.key LIKE 'poison:%' THEN RAISE EXCEPTION 'poisoned' USING ERRCODE = "
                        "split_part(NEW.key, ':', 2); END IF; RETURN NEW; END $$");
    database.person.ask("CREATE TRIGGER refuse BEFORE INSERT ON tenure.lease FOR EACH ROW EXECUTE FUNCTION refuse()");
    using enum Failure::Effect;
    for (auto const& [code, effect, error, fatal] : {
             Meaning{"40001", refused},
             Meaning{"40P01", refused},
             Meaning{"55P03", refused},
             Meaning{"57014", refused},
             Meaning{"53100", refused},
             Meaning{"53200", refused},
             Meaning{"54000", refused},
             Meaning{"22012", refused},
             Meaning{"23505", refused},
             Meaning{"25006", refused},
             Meaning{"28000", refused, errc::authentication_failed, true},
             Meaning{"3D000", refused, errc::wrong_database, true},
             Meaning{"42501", refused, errc::permission_denied, true},
             Meaning{"3F000", refused, errc::wrong_server, true},
             Meaning{"42P01", refused, errc::wrong_server, true},
             Meaning{"42883", refused, errc::wrong_server, true},
             Meaning{"42P13", refused, errc::wrong_server, true},
             Meaning{"40003", unknown},
             Meaning{"08006", unknown},
             Meaning{"58030", unknown},
             Meaning{"XX000", unknown},
             Meaning{"P0001", unknown},
         }) {
        CAPTURE(code);
        auto const reply = database.client.claim(database.request(named_key("poison:" + code), 1));
        auto const& failure = expect_failure(reply, effect);
        CHECK(failure.error == error);
        CHECK(failure.fatal == fatal);
        CHECK_THAT(failure.detail, ContainsSubstring("poisoned (" + code + ")"));
        // the store goes on
        database.client.run_until([&] { return std::holds_alternative<Ready>(database.client.ready()); });
    }
}

TEST_CASE("a server that has no place for another session has got no request", "[postgresql]")
{
    Database database;
    database.person.ask("CREATE ROLE crowd LOGIN SUPERUSER CONNECTION LIMIT 0");
    database.person.ask("ALTER ROLE crowd NOSUPERUSER");
    auto config = Database::config(database.server.port());
    config.create = false;
    config.username = "crowd";
    Client client(Database::connect(config));
    auto const& full = expect_not_sent(client.claim(database.request(named_key("key"), 1)));
    CHECK(full.error == errc::store_unavailable);
    CHECK_FALSE(full.fatal);
    CHECK_THAT(full.detail, ContainsSubstring("53300"));
}

TEST_CASE("a database that does not exist is named", "[postgresql]")
{
    Database database;
    auto config = Database::config(database.server.port());
    config.database = "nowhere";
    Client client(Database::connect(config));
    auto const& missing = expect_not_sent(client.ready());
    CHECK(missing.error == errc::wrong_database);
    CHECK(missing.fatal);
}
