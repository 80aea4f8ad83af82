// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Which of several sentinels' answers counts, and when.
#include "store/redis/sentinel/master_vote.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <optional>
#include <string>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::redis;
using Catch::Matchers::ContainsSubstring;

namespace
{

ServerAddress server(std::uint16_t port)
{
    return {"10.0.0.1", port};
}

/** Three sentinels of three, asked at `now`; a grace of 500 ms, and 1.5 s at most. */
struct Search {
    explicit Search(std::uint64_t known_epoch = 0, std::size_t configured = 3, std::size_t asked = 3)
        : search({"mymaster", configured, known_epoch, now + 1500ms, 500ms})
    {
        for (std::size_t i = 0; i < asked; ++i)
            search.ask({"sentinel", static_cast<std::uint16_t>(26379 + i)});
    }

    void reports(std::size_t sentinel, ServerAddress address, std::uint64_t epoch, std::string id = {})
    {
        reports(sentinel, MasterReport{std::move(address), epoch, false, false, 3, std::move(id)});
    }
    void reports(std::size_t sentinel, MasterReport report) { search.reported(sentinel, std::move(report), now); }
    void fails(std::size_t sentinel, errc code = errc::store_unavailable, bool fatal = false)
    {
        search.failed(sentinel, {make_error_code(code), "its reason", fatal});
    }

    [[nodiscard]] bool pending() const { return std::holds_alternative<std::monostate>(search.verdict(now)); }
    [[nodiscard]] std::optional<ServerAddress> found() const
    {
        auto const verdict = search.verdict(now);
        auto const* const found = std::get_if<MasterVote::Found>(&verdict);
        return found != nullptr ? std::optional(found->address) : std::nullopt;
    }
    [[nodiscard]] StreamError error() const
    {
        auto const verdict = search.verdict(now);
        auto const* const error = std::get_if<StreamError>(&verdict);
        return error != nullptr ? *error : StreamError{};
    }

    Instant now{1h};
    MasterVote search;
};

} // namespace

TEST_CASE("the master is the one that more than half of the sentinels know", "[redis][sentinel]")
{
    Search test;
    CHECK(test.pending());
    test.reports(0, server(1), 5);
    CHECK(test.pending());
    test.reports(1, server(1), 5);
    CHECK(test.found() == server(1));
}

TEST_CASE("a greater config epoch wins, in whatever order the answers come", "[redis][sentinel]")
{
    for (std::size_t const newer : {0U, 1U}) {
        Search test;
        test.reports(1 - newer, server(1), 5);
        test.reports(newer, server(2), 6);
        CHECK(test.found() == server(2));
    }
}

TEST_CASE("in one epoch the address counts that most sentinels name", "[redis][sentinel]")
{
    Search test;
    test.reports(0, server(1), 5);
    test.reports(1, server(2), 5);
    test.reports(2, server(2), 5);
    CHECK(test.found() == server(2));
}

TEST_CASE("a sentinel that was cut off with the old master does not win while others answer", "[redis][sentinel]")
{
    Search test;
    test.reports(0, server(1), 5);
    test.now += 499ms;
    CHECK(test.pending());
    test.reports(1, server(2), 6);
    CHECK(test.found() == server(2));
}

TEST_CASE("a minority is believed when the grace is over, or when nothing more can come", "[redis][sentinel]")
{
    Search slow;
    slow.now += 200ms;
    slow.reports(0, server(1), 5);
    CHECK(slow.search.decides_at() == slow.now + 500ms);
    slow.now += 500ms;
    CHECK(slow.found() == server(1));

    Search failing;
    failing.fails(1);
    failing.fails(2);
    CHECK(failing.pending());
    failing.reports(0, server(1), 5);
    CHECK(failing.found() == server(1));
}

TEST_CASE("a minority is not believed when it names an epoch that is over", "[redis][sentinel]")
{
    Search alone(6);
    alone.reports(0, server(1), 5);
    alone.fails(1);
    alone.fails(2);
    CHECK_FALSE(alone.found());
    CHECK(alone.error().code == errc::store_unavailable);
    CHECK_FALSE(alone.error().fatal);
    CHECK_THAT(
        alone.error().detail, ContainsSubstring("only 1 of 3 sentinels answered") && ContainsSubstring("10.0.0.1:1"));

    // most of them may have been set up anew
    Search most(6);
    most.reports(0, server(1), 0);
    most.reports(1, server(1), 0);
    CHECK(most.found() == server(1));
    // and the same epoch is not over
    Search same(5);
    same.reports(0, server(1), 5);
    same.fails(1);
    same.fails(2);
    CHECK(same.found() == server(1));
}

TEST_CASE(
    "sentinels that one of them names count, and one that has forgotten the others is not all", "[redis][sentinel]")
{
    // one was configured, and tells of two more
    Search lone(0, 1, 1);
    lone.reports(0, MasterReport{server(1), 5, false, false, 3, "a"});
    CHECK(lone.search.needs_more());
    CHECK_FALSE(lone.search.knows({{"other", 26379}, "b"}));
    CHECK(lone.search.knows({{"other", 26379}, "a"}));
    CHECK(lone.search.knows({{"sentinel", 26379}, ""}));
    CHECK_FALSE(lone.search.knows({{"sentinel", 26379}, ""}, 0));
    lone.search.ask({"other", 26379});
    CHECK(lone.pending());
    lone.reports(1, server(2), 6, "b");
    CHECK(lone.found() == server(2));

    Search forgetful;
    forgetful.reports(0, MasterReport{server(1), 5, false, false, 1, {}});
    CHECK(forgetful.pending());
    CHECK_FALSE(forgetful.search.needs_more());
}

TEST_CASE("a sentinel that is asked under two addresses counts once", "[redis][sentinel]")
{
    Search test;
    test.reports(0, server(1), 5, "same");
    test.reports(1, server(1), 5, "same");
    CHECK(test.pending());
    test.reports(2, server(1), 5, "other");
    CHECK(test.found() == server(1));
}

TEST_CASE("a master that is called down is not gone to", "[redis][sentinel]")
{
    auto const report = [](bool subjective, bool objective) {
        return MasterReport{server(1), 5, subjective, objective, 3, {}};
    };
    Search objective;
    objective.reports(0, report(false, true));
    objective.reports(1, report(false, false));
    CHECK(objective.error().code == errc::store_unavailable);
    CHECK_FALSE(objective.error().fatal);
    CHECK_THAT(objective.error().detail, ContainsSubstring("'mymaster' at 10.0.0.1:1 down (o_down)"));

    Search subjective;
    subjective.reports(0, report(true, false));
    subjective.reports(1, report(true, false));
    CHECK_THAT(subjective.error().detail, ContainsSubstring("(s_down)"));

    // one that does not reach it itself does not speak for all
    Search one;
    one.reports(0, report(true, false));
    one.reports(1, report(false, false));
    CHECK(one.found() == server(1));

    // another one is in its place already
    Search replaced;
    replaced.reports(0, report(true, true));
    replaced.reports(1, server(2), 6);
    CHECK(replaced.found() == server(2));
}

TEST_CASE("a name that no sentinel knows is told, and may be known later", "[redis][sentinel]")
{
    Search test;
    test.search.knows_no_such(0, test.now);
    CHECK(test.pending());
    test.search.knows_no_such(1, test.now);
    CHECK(test.error().code == errc::store_refused);
    CHECK_FALSE(test.error().fatal);
    CHECK_THAT(
        test.error().detail, ContainsSubstring("no sentinel knows a master named 'mymaster'") &&
                                 ContainsSubstring("sentinel:26379, sentinel:26380)"));
    // one that knows it is right
    Search one;
    one.search.knows_no_such(0, one.now);
    one.reports(1, server(1), 5);
    CHECK(one.found() == server(1));
}

TEST_CASE(
    "when no sentinel answers each one's reason is told, those that a person must mend first", "[redis][sentinel]")
{
    Search away;
    away.fails(0);
    away.fails(1);
    CHECK(away.pending());
    away.now += 1500ms;
    CHECK(away.error().code == errc::store_unavailable);
    CHECK_FALSE(away.error().fatal);
    CHECK(
        away.error().detail == "no sentinel tells where the master is: sentinel:26379: its reason; sentinel:26380: its "
                               "reason; sentinel:26381: no answer in time");
    CHECK(away.search.silent(away.now).size() == 3);

    Search refused;
    refused.fails(0);
    refused.fails(1, errc::authentication_failed, true);
    refused.fails(2);
    CHECK(refused.error().detail.starts_with("no sentinel tells where the master is: sentinel:26380: its reason; "));

    // while another one answers it does not matter
    Search enough;
    enough.fails(0, errc::authentication_failed, true);
    enough.reports(1, server(1), 5);
    enough.reports(2, server(1), 5);
    CHECK(enough.found() == server(1));
}

TEST_CASE("nothing is final while a sentinel that is only away may come back", "[redis][sentinel]")
{
    for (bool const answers_late : {false, true}) {
        Search test;
        test.fails(0, errc::authentication_failed, true);
        test.fails(1, errc::authentication_failed, true);
        if (answers_late)
            test.now += 1500ms;
        else
            test.fails(2);
        CHECK(test.error().code == errc::store_unavailable);
        CHECK_FALSE(test.error().fatal);
    }
    Search all;
    all.fails(0, errc::authentication_failed, true);
    all.fails(1, errc::tls_failed, true);
    CHECK(all.pending());
    all.fails(2, errc::authentication_failed, true);
    CHECK(all.error().code == errc::authentication_failed);
    CHECK(all.error().fatal);
}

TEST_CASE("the first reply of a sentinel counts", "[redis][sentinel]")
{
    Search test;
    test.fails(0);
    test.reports(0, server(9), 9);
    test.reports(1, server(1), 5);
    test.search.knows_no_such(1, test.now);
    test.reports(2, server(1), 5);
    CHECK(test.found() == server(1));
}
