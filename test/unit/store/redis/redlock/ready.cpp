// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/expect_failure.hpp"
#include "scripted_nodes.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

struct Readiness {
    ScriptedQuorum quorum{5};
    std::optional<ReadyReply> reply;

    Readiness()
    {
        quorum.backend->ready(quorum.runtime->now() + 5s, [this](ReadyReply answer) { reply = std::move(answer); });
    }

    template <class Answer>
    void answer(std::size_t node, Answer with)
    {
        REQUIRE(quorum[node].readies.size() == 1);
        ScriptedNode::answer(quorum[node].readies, std::move(with));
    }
};

Failure wrong_password()
{
    return Failure::refused(make_error_code(errc::authentication_failed), "WRONGPASS", true);
}

} // namespace

TEST_CASE("Redlock is ready as soon as a majority of the servers is")
{
    Readiness test;
    test.answer(4, unreachable());
    test.answer(0, Ready{});
    test.answer(1, Ready{});
    CHECK_FALSE(test.reply);
    test.answer(2, Ready{});
    REQUIRE(test.reply);
    CHECK(std::holds_alternative<Ready>(*test.reply));
}

TEST_CASE("Redlock is refused at once where the login is wrong on so many servers that no majority is left")
{
    Readiness test;
    test.answer(0, Ready{});
    test.answer(1, wrong_password());
    test.answer(2, wrong_password());
    CHECK_FALSE(test.reply);
    test.answer(3, wrong_password());
    REQUIRE(test.reply);
    auto const& refused = expect_refused(*test.reply);
    CHECK(refused.error == errc::authentication_failed);
    CHECK(refused.fatal);
    CHECK(refused.detail.find("redis://b:6379/0: WRONGPASS") != std::string::npos);
    CHECK(refused.detail.find("redis://e:6379/0: no answer in time") != std::string::npos);
}

TEST_CASE("Redlock says at the deadline which servers are missing")
{
    Readiness test;
    test.answer(0, Ready{});
    test.answer(1, Ready{});
    test.answer(2, unreachable());
    test.quorum.runtime->run_for(4999ms);
    CHECK_FALSE(test.reply);
    test.quorum.runtime->run_for(1ms);
    REQUIRE(test.reply);
    auto const& refused = expect_refused(*test.reply);
    CHECK(refused.error == errc::store_unavailable);
    CHECK_FALSE(refused.fatal);
    CHECK(refused.detail.find("redis://c:6379/0: connection refused") != std::string::npos);
    CHECK(refused.detail.find("redis://d:6379/0: no answer in time") != std::string::npos);
}

TEST_CASE("an examination of Redlock has the findings of every server, under the name of the server")
{
    ScriptedQuorum quorum{3};
    std::optional<Findings> findings;
    quorum.backend->examine(10s, quorum.runtime->now() + 5s, [&](Findings found) { findings = std::move(found); });
    REQUIRE(findings);
    REQUIRE(findings->size() == 4);
    CHECK(findings->at(0).subject == "quorum");
    for (std::size_t node = 0; node < 3; ++node)
        CHECK(findings->at(node + 1).subject == quorum[node].describe() + ": clock");
}

} // namespace tenure::test
