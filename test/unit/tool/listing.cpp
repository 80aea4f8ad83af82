// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "doctor/findings_report.hpp"
#include "keys/holder.hpp"
#include "output/table.hpp"
#include "status/slot_listing.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::tool;
using Catch::Matchers::ContainsSubstring;
using tenure::Finding;
using tenure::KeyState;

namespace
{

std::string const secret = "0123456789abcdef0123456789abcdef";

KeyState held(std::uint32_t index, std::string owner)
{
    KeyState state;
    state.index = index;
    state.kind = KeyState::Kind::held;
    state.owner = std::move(owner);
    state.remaining = 4200ms;
    state.fencing_token = 18'000'000'000'000'000'000U;
    state.held_for = 61s;
    return state;
}

SlotListing listing_of(std::vector<KeyState> states)
{
    auto const count = static_cast<std::uint32_t>(states.size());
    return {
        "redis://host:6379/0",
        {tenure::numbered_keys("job:", count)},
        std::move(states),
        std::chrono::system_clock::time_point{}};
}

std::vector<std::string> rows_of_text(std::string const& text)
{
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

/** Lists a slot that is held, and one that is taken without a holder.
 *  @returns the listing as JSON */
boost::json::object check_shown_as(KeyState::Kind kind, std::string const& name)
{
    auto taken = held(1, "host:12/" + secret);
    taken.kind = kind;
    taken.held_for.reset();
    taken.remaining = 30s;
    auto const listing = listing_of({held(0, "host:7/" + secret), taken});
    auto const text = as_table(listing);
    CHECK_THAT(text, ContainsSubstring("1 of 2 held, 1 " + name));
    CHECK_THAT(text, ContainsSubstring(":30, last held by host:12"));
    CHECK_THAT(text, ContainsSubstring(name + " until "));
    CHECK_THAT(text, !ContainsSubstring(secret));
    auto const object = boost::json::parse(as_json(listing)).as_object();
    CHECK(object.at("held").as_int64() == 1);
    CHECK(object.at(name).as_int64() == 1);
    auto const& key = object.at("keys").as_array().at(1);
    CHECK(key.at("state").as_string() == name);
    CHECK(key.at("last_worker").as_string() == "host:12");
    CHECK(key.at("until").as_string() == "1970-01-01T00:00:30Z");
    return object;
}

} // namespace

TEST_CASE("columns of a table are as wide as their widest cell", "[tool]")
{
    Table table({"A", "LONG"});
    table.add({"wider", "x"});
    table.add({"y"});
    CHECK(table.text() == "A      LONG\nwider  x\ny\n");
}

TEST_CASE("a key that the store could not tell about hides no other, and its reason is shown", "[tool]")
{
    auto listing = listing_of({held(0, "host:12/" + secret), {}, {}});
    listing.states[1].index = 1;
    listing.states[2].index = 2;
    listing.unread[1] = "hash slot 77 is being moved to 10.0.0.2:6379";
    auto const table = as_table(listing);
    CHECK_THAT(table, ContainsSubstring("1 of 3 held, 1 unknown"));
    CHECK_THAT(table, ContainsSubstring("host:12"));
    CHECK_THAT(table, ContainsSubstring("1: unknown: hash slot 77 is being moved to 10.0.0.2:6379"));
    auto const json = boost::json::parse(as_json(listing)).as_object();
    CHECK(json.at("held").as_int64() == 1);
    CHECK(json.at("unknown").as_int64() == 1);
    CHECK(json.at("keys").as_array().at(1).as_object().at("state") == "unknown");
    CHECK(json.at("keys").as_array().at(1).as_object().at("why") == "hash slot 77 is being moved to 10.0.0.2:6379");
    CHECK(json.at("keys").as_array().at(2).as_object().at("state") == "free");
}

TEST_CASE("a server's text cannot reach the terminal as a command", "[tool]")
{
    CHECK(printable("\x1b[2Jname\n\xc3\xa9") == "?[2Jname???");
    CHECK(printable("abcdef", 3) == "abc...");
}

TEST_CASE("only the worker's name is shown of an owner", "[tool]")
{
    auto const worker = holder_of(held(0, "host:12/" + secret));
    CHECK(worker.kind == Holder::Kind::worker);
    CHECK(worker.name == "host:12");
    auto const evicted = holder_of(held(0, "evicted/admin"));
    CHECK(evicted.kind == Holder::Kind::evicted);
    CHECK(evicted.name == "admin");
    CHECK(holder_of(KeyState{}).kind == Holder::Kind::nobody);
}

TEST_CASE(
    "a slot in quarantine is shown as resting, with its end and its last holder, and counts as none that is held",
    "[tool]")
{
    auto const object = check_shown_as(KeyState::Kind::resting, "resting");
    CHECK(object.at("keys").as_array().at(1).at("remaining_ms").as_int64() == 30'000);
}

TEST_CASE(
    "a key that its holder left to expire is shown as kept, with its end and its last holder, and counts as none that "
    "is held",
    "[tool]")
{
    auto const object = check_shown_as(KeyState::Kind::kept, "kept");
    CHECK(object.at("resting").as_int64() == 0);
}

TEST_CASE(
    "a key that is held in places is listed with all holders and the first waiters, within the terminal", "[tool]")
{
    auto state = held(0, "reader-0/" + secret);
    auto const place = [](std::string name, std::uint32_t weight, bool holds) {
        return tenure::Place{
            .owner = std::move(name) + "/" + secret, .weight = weight, .capacity = 6, .remaining = 3s, .holds = holds};
    };
    state.places = {place("a-reader-with-a-very-long-name-of-its-pod-in-kubernetes:1", 1, true), place("w2", 3, true)};
    for (auto const* const name : {"w3", "w4", "w5", "w6", "w7"})
        state.places.push_back(place(name, 6, false));
    auto listing = listing_of({state});
    listing.ranges = {tenure::shared_key("memory")};
    auto const lines = table_lines(listing, {.width = 80});
    REQUIRE(lines.size() == 8);
    CHECK(lines[0] == "memory on redis://host:6379/0: 1 of 1 held, 5 waiting");
    CHECK_THAT(
        lines[2],
        ContainsSubstring("memory  a-reader") && ContainsSubstring("kubernetes:1") && ContainsSubstring("3.0 s"));
    CHECK_THAT(lines[3], ContainsSubstring("memory  w2 (3 of 6)"));
    CHECK_THAT(lines[4], ContainsSubstring("waiting: w3 "));
    CHECK_THAT(lines[6], ContainsSubstring("waiting: w5 "));
    CHECK_THAT(lines[7], ContainsSubstring("... 2 more wait"));
    for (auto const& line : lines) {
        CHECK(line.size() <= 80);
        CHECK(line.find(secret) == std::string::npos);
    }
    auto const json = boost::json::parse(as_json(listing)).as_object();
    auto const& places = json.at("keys").as_array().at(0).at("places").as_array();
    REQUIRE(places.size() == 7);
    CHECK(places.at(1).at("worker") == "w2");
    CHECK(places.at(1).at("state") == "held");
    CHECK(places.at(1).at("weight") == 3);
    CHECK(places.at(1).at("remaining_ms") == 3000);
    CHECK(places.at(6).at("worker") == "w7");
    CHECK(places.at(6).at("state") == "waiting");
}

TEST_CASE("of many holders of one key the first ones are listed, unless all are asked for", "[tool]")
{
    auto state = held(0, "w/" + secret);
    for (int holder = 0; holder < 40; ++holder)
        state.places.push_back({.owner = "w/" + secret, .weight = 1, .capacity = 99, .remaining = 3s, .holds = true});
    state.places.push_back({.owner = "last/" + secret, .weight = 99, .capacity = 99, .remaining = 3s});
    auto listing = listing_of({state});
    listing.ranges = {tenure::shared_key("memory")};
    auto const lines = table_lines(listing, {});
    REQUIRE(lines.size() == 2 + 32 + 2);
    CHECK_THAT(lines[34], ContainsSubstring("... 8 more hold it"));
    CHECK_THAT(lines[35], ContainsSubstring("waiting: last"));
    CHECK(table_lines(listing, {.all = true}).size() == 2 + 40 + 1);
}

TEST_CASE("several locks are listed in one table and one object, in the order named", "[tool]")
{
    auto listing = listing_of({held(0, "host:12/" + secret), KeyState{}});
    listing.ranges = {tenure::named_key("orders"), tenure::named_key("goods")};
    CHECK_THAT(
        as_table(listing), ContainsSubstring("orders, goods on redis://host:6379/0: 1 of 2 held\nLOCK ") &&
                               ContainsSubstring("\norders  host:12") && ContainsSubstring("\ngoods   free"));
    auto const object = boost::json::parse(as_json(listing)).as_object();
    CHECK(object.at("range").as_string() == "orders, goods");
    CHECK(object.at("keys").at(0).at("key").as_string() == "orders");
    CHECK(object.at("keys").at(1).at("key").as_string() == "goods");
    CHECK(object.at("keys").at(1).at("state").as_string() == "free");
    CHECK_FALSE(object.at("keys").at(0).as_object().contains("slot"));
}

TEST_CASE("nothing is shown of a value that other software wrote", "[tool]")
{
    for (auto const& value :
         {std::string("de305d54-75b4-431b-adb2-eb6b9e546014-77"), "host/" + secret.substr(1), std::string("host/too"),
          std::string("/"), std::string()}) {
        auto const holder = holder_of(held(0, value));
        CHECK(holder.kind == Holder::Kind::other_software);
        CHECK(holder.name.empty());
        CHECK(describe(holder) == "(other software)");
    }
}

TEST_CASE("a listing shows a holder's note, and since when by its own clock if the store does not know", "[tool]")
{
    auto state = held(0, "host:12/call 555-0123/59/" + secret);
    auto const known = listing_of({state});
    CHECK_THAT(as_table(known), ContainsSubstring("NOTE") && ContainsSubstring("call 555-0123"));
    CHECK_THAT(as_table(known), !ContainsSubstring(secret));
    CHECK(boost::json::parse(as_json(known)).at("keys").at(0).at("held_for_ms").as_int64() == 61'000);

    state.held_for.reset();
    auto listing = listing_of({state});
    listing.taken_at = std::chrono::sys_seconds(std::chrono::seconds(100));
    CHECK_THAT(as_table(listing), ContainsSubstring("41.0 s"));
    auto const key = boost::json::parse(as_json(listing)).at("keys").at(0);
    CHECK(key.at("note").as_string() == "call 555-0123");
    CHECK(key.at("worker").as_string() == "host:12");
    CHECK(key.at("since").as_string() == "1970-01-01T00:00:59Z");
    CHECK(key.at("held_for_ms").as_int64() == 41'000);
    // a holder whose clock is ahead has not held it for a negative time
    listing.taken_at = std::chrono::sys_seconds(std::chrono::seconds(7));
    CHECK(boost::json::parse(as_json(listing)).at("keys").at(0).at("held_for_ms").as_int64() == 0);
    CHECK_THAT(as_table(listing_of({held(0, "host:12/" + secret)})), !ContainsSubstring("NOTE"));
}

TEST_CASE("another program's value of any type is held while it expires, and foreign if it never does", "[tool]")
{
    KeyState state;
    state.kind = KeyState::Kind::foreign;
    CHECK(state_name(holder_of(state)) == "foreign");
    state.remaining = std::chrono::milliseconds{29'000};
    CHECK(state_name(holder_of(state)) == "held");
    auto const listing = listing_of({state});
    CHECK_THAT(as_table(listing), ContainsSubstring("(other software)") && ContainsSubstring("29.0 s"));
    auto const key = boost::json::parse(as_json(listing)).at("keys").at(0);
    CHECK(key.at("remaining_ms").as_int64() == 29'000);
    CHECK_FALSE(key.as_object().contains("worker"));
}

TEST_CASE("a listing shows holders, durations and tokens, and no secret", "[tool]")
{
    auto free = KeyState{};
    free.index = 1;
    auto foreign = KeyState{};
    foreign.index = 2;
    foreign.kind = KeyState::Kind::foreign;
    auto const listing = listing_of({held(0, "host:12/" + secret), free, foreign});
    auto const text = as_table(listing);
    CHECK_THAT(text, ContainsSubstring("job:0..2 on redis://host:6379/0: 2 of 3 held"));
    CHECK_THAT(text, ContainsSubstring("host:12"));
    CHECK_THAT(text, ContainsSubstring("1 min 01 s"));
    CHECK_THAT(text, ContainsSubstring("4.2 s"));
    CHECK_THAT(text, ContainsSubstring("18000000000000000000"));
    CHECK_THAT(text, !ContainsSubstring(secret));

    auto const json = as_json(listing);
    CHECK_THAT(json, !ContainsSubstring(secret));
    auto const object = boost::json::parse(json).as_object();
    CHECK(object.at("held").as_int64() == 2);
    auto const& keys = object.at("keys").as_array();
    REQUIRE(keys.size() == 3);
    CHECK(keys[0].at("worker").as_string() == "host:12");
    CHECK(keys[0].at("key").as_string() == "job:0");
    CHECK(keys[0].at("held_for_ms").as_int64() == 61'000);
    CHECK(keys[0].at("remaining_ms").as_int64() == 4'200);
    CHECK(keys[0].at("fencing_token").as_string() == "18000000000000000000");
    CHECK(keys[0].at("since").as_string() == "1969-12-31T23:58:59Z");
    CHECK(keys[1].at("state").as_string() == "free");
    CHECK_FALSE(keys[1].as_object().contains("worker"));
    CHECK(keys[2].at("state").as_string() == "foreign");
}

TEST_CASE("many free slots are counted and not listed", "[tool]")
{
    std::vector<KeyState> states(100);
    for (std::uint32_t index = 0; index < states.size(); ++index)
        states[index].index = index;
    states[77] = held(77, "host:12/" + secret);
    auto const text = as_table(listing_of(std::move(states)));
    CHECK_THAT(text, ContainsSubstring("1 of 100 held"));
    CHECK_THAT(text, ContainsSubstring("\n77 "));
    CHECK_THAT(text, !ContainsSubstring("\n76 "));
    CHECK_THAT(text, ContainsSubstring("\n99 free slots are not shown: --all shows them\n"));
}

TEST_CASE("many free slots are listed if all are asked for", "[tool]")
{
    std::vector<KeyState> states(100);
    for (std::uint32_t index = 0; index < states.size(); ++index)
        states[index].index = index;
    auto const text = as_table(listing_of(std::move(states)), {.all = true});
    CHECK_THAT(text, ContainsSubstring("\n99    free"));
    CHECK_THAT(text, !ContainsSubstring("not shown"));
}

TEST_CASE("no line of a listing is wider than the terminal, and its durations stay", "[tool]")
{
    auto const pod = std::string("worker-deployment-with-a-long-name-5d7c9f6b8d-x2k4p:1");
    auto first = held(0, pod + "/" + secret);
    auto second = held(1, pod + "/a note that is long as well, and says much/59/" + secret);
    for (std::size_t const width : {120U, 80U, 60U, 50U}) {
        CAPTURE(width);
        auto listing = listing_of({first, second});
        listing.store = "redis+sentinel://sentinel-1:26379,sentinel-2:26379,sentinel-3:26379/a-master/0";
        auto const lines = table_lines(listing, {.width = width});
        // the name of the store is one word
        auto const table = std::ranges::find_if(lines, [](auto const& line) { return line.starts_with("SLOT"); });
        REQUIRE(table != lines.end());
        for (auto line = table; line != lines.end(); ++line)
            CHECK(line->size() <= width);
        CHECK_THAT(*table, ContainsSubstring("FOR") && ContainsSubstring("TTL LEFT"));
        CHECK_THAT(table[1], ContainsSubstring("1 min 01 s") && ContainsSubstring("4.2 s"));
        CHECK((width < 60 || table[1].find(":1 ") != std::string::npos));
    }
    CHECK_THAT(as_table(listing_of({first})), ContainsSubstring(pod));
}

TEST_CASE("a column of tokens is shown only where the store tells one", "[tool]")
{
    auto state = held(0, "host:12/" + secret);
    CHECK_THAT(as_table(listing_of({state})), ContainsSubstring("TOKEN"));
    state.fencing_token = 0;
    CHECK_THAT(as_table(listing_of({state})), !ContainsSubstring("TOKEN"));
}

TEST_CASE("findings come worst first, with their advice, and decide the exit code", "[tool]")
{
    tenure::Findings findings = {{Finding::Severity::ok, "version", "7.0.15", ""}};
    CHECK(exit_code_of(findings) == success);
    findings.push_back({Finding::Severity::unverified, "persistence", "CONFIG is refused", "ask somebody"});
    CHECK(exit_code_of(findings) == success);
    findings.push_back({Finding::Severity::warning, "eviction policy", "allkeys-lru", "leases may vanish"});
    CHECK(exit_code_of(findings) == attention);
    findings.push_back({Finding::Severity::error, "round trip", "900 ms", std::string(300, 'x')});
    CHECK(exit_code_of(findings) == broken);

    auto const text = as_text("redis://host", findings);
    CHECK(text.find("round trip") < text.find("eviction policy"));
    CHECK(text.find("eviction policy") < text.find("persistence"));
    CHECK(text.find("persistence") < text.find("version"));
    CHECK_THAT(text, ContainsSubstring("leases may vanish"));
    CHECK_THAT(text, ContainsSubstring("1 error, 1 warning, 1 unverified, 1 ok"));

    findings[1].observed = "words that are many and go on " + std::string(60, 'y');
    for (auto const& line : rows_of_text(as_text("redis://host", findings, false, 80)))
        CHECK((line.size() <= 80 || line.find("xxx") != std::string::npos));

    auto const object = boost::json::parse(as_json("redis://host", findings)).as_object();
    CHECK(object.at("errors").as_int64() == 1);
    CHECK(object.at("findings").as_array().at(2).at("advice").as_string() == "leases may vanish");
}
