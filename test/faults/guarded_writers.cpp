// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "guarded_writers.hpp"

#include "harness/paths.hpp"

#include <csignal>
#include <map>
#include <ostream>
#include <sstream>

namespace tenure::faults
{

using namespace std::chrono_literals;

namespace
{

constexpr unsigned processes = 6;

/** The trigger runs just before the commit, and sees what others have committed until then. */
constexpr char const* counting = R"sql(
CREATE SCHEMA guarded;
CREATE TABLE guarded.write (key text, token bigint, stalled bool);
CREATE TABLE guarded.committed (key text, token bigint, stalled bool, expired bool, late bool);
CREATE FUNCTION guarded.judge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v tenure.lease;
BEGIN
    SELECT * INTO v FROM tenure.lease WHERE key = NEW.key;
    INSERT INTO guarded.committed
        VALUES (NEW.key, NEW.token, NEW.stalled, v.until < clock_timestamp(), coalesce(v.token > NEW.token, false));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER judge AFTER INSERT ON guarded.write DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION guarded.judge())sql";

} // namespace

void GuardedWriters::install(test::PostgresqlPerson& owner)
{
    owner.ask(counting);
}

GuardedWriters::GuardedWriters(Setup const& setup)
{
    for (unsigned number = 0; number < processes; ++number)
        processes_.emplace_back(test::Command{
            {test::test_program("guarded_writer"), setup.url, setup.database, std::to_string(setup.ttl.count()),
             std::to_string(setup.seed + number)},
            {},
            directory_.file("writers.log")});
}

void GuardedWriters::end()
{
    for (auto& process : processes_)
        process.signal(SIGTERM);
    for (auto& process : processes_)
        static_cast<void>(process.wait_for(20s));
}

void GuardedWriters::judge(test::PostgresqlPerson& person, Ledger& ledger, std::ostream& figures)
{
    auto const counted =
        person
            .ask("SELECT count(*), count(*) FILTER (WHERE stalled), "
                 "count(*) FILTER (WHERE expired), count(*) FILTER (WHERE late) FROM guarded.committed")
            .at(0);
    figures << "guarded writes: " << counted[0] << " committed, " << counted[1]
            << " of them stalled between guard and commit, " << counted[2] << " when their lease had expired, "
            << counted[3] << " late\nguarded writes that did not commit:";
    std::map<std::string, unsigned> refused;
    std::istringstream words(directory_.text_of("writers.log"));
    for (std::string word; words >> word;)
        ++refused[word];
    for (auto const& [code, count] : refused)
        figures << " " << code << " " << count << ",";
    figures << "\n";
    for (auto const& late : person.ask("SELECT key, token FROM guarded.committed WHERE late"))
        ledger.breach("late guarded write", late[0] + ": with token " + late[1] + " after a later claim");
    if (counted[0] == "0" || counted[2] == "0")
        ledger.breach("guarded writes", "none was committed after its lease had expired, so nothing was shown");
}

} // namespace tenure::faults
