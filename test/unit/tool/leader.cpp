// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "elect/leader_text.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace std::chrono_literals;
using namespace tenure::tool;
using tenure::Leader;

namespace
{

LeaderNews news_of(Leader leader)
{
    return {"redis://host:6379/0", "scheduler", std::move(leader), std::chrono::sys_seconds(1'769'824'800s)};
}

} // namespace

TEST_CASE("a leader is one line, and each state has words of its own", "[tool]")
{
    Leader leader;
    CHECK(as_text(news_of(leader)) == "unknown: redis://host:6379/0 has not said who leads scheduler");
    leader.state = Leader::State::none;
    CHECK(as_text(news_of(leader)) == "no program leads scheduler");
    leader.state = Leader::State::present;
    CHECK(as_text(news_of(leader)) == "(other software) leads scheduler");
    leader.name = "w1";
    CHECK(as_text(news_of(leader)) == "w1 leads scheduler");
    leader.contact = "10.0.0.7:8080";
    leader.fencing_token = 18'000'000'000'000'000'000U;
    CHECK(as_text(news_of(leader)) == "w1 leads scheduler, contact 10.0.0.7:8080, token 18000000000000000000");
    leader.state = Leader::State::stale;
    leader.age = 4200ms;
    CHECK(
        as_text(news_of(leader)) ==
        "stale: w1 led scheduler, contact 10.0.0.7:8080, as redis://host:6379/0 said 4.2 s ago");
    leader.name.clear();
    leader.contact.clear();
    CHECK(as_text(news_of(leader)) == "stale: no known program led scheduler, as redis://host:6379/0 said 4.2 s ago");
}

TEST_CASE("a leader's text about itself cannot reach the terminal as a command", "[tool]")
{
    Leader leader;
    leader.state = Leader::State::present;
    leader.name = "w\x1b[2J";
    leader.contact = "\x1b]0;title\x07";
    CHECK(as_text(news_of(leader)) == "w?[2J leads scheduler, contact ?]0;title?");
}

TEST_CASE("a leader for programs has what is known of it and no more", "[tool]")
{
    Leader leader;
    auto object = boost::json::parse(as_json(news_of(leader))).as_object();
    CHECK(object.at("state").as_string() == "unknown");
    CHECK(object.at("election").as_string() == "scheduler");
    CHECK(object.at("at").as_string() == "2026-01-31T02:00:00Z");
    CHECK(object.size() == 4);
    leader.state = Leader::State::stale;
    leader.name = "w1";
    leader.contact = "h:1";
    leader.fencing_token = 77;
    leader.age = 4200ms;
    object = boost::json::parse(as_json(news_of(leader))).as_object();
    CHECK(object.at("state").as_string() == "stale");
    CHECK(object.at("leader").as_string() == "w1");
    CHECK(object.at("contact").as_string() == "h:1");
    CHECK(object.at("fencing_token").as_string() == "77");
    CHECK(object.at("age_ms").as_int64() == 4200);
}

TEST_CASE("each state of an election has an exit code of its own", "[tool]")
{
    CHECK(exit_code_for(Leader::State::present) == 0);
    CHECK(exit_code_for(Leader::State::none) == 1);
    CHECK(exit_code_for(Leader::State::stale) == 2);
    CHECK(exit_code_for(Leader::State::unknown) == 69);
}
