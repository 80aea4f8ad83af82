// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The claims of one server that have begun, and those that wait for their turn.
#include "store/claim_window.hpp"

#include "unit/fake_runtime.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using store::ClaimWindow;

namespace
{

/** A window, and the claims that began or failed, in their order. */
struct WindowTest {
    explicit WindowTest(std::size_t size)
        : window(std::make_shared<ClaimWindow>(runtime, size))
    {
    }

    void claim(int number, Deadline not_after = Instant::max())
    {
        window->begin(std::move(not_after), [this, number](std::variant<ClaimWindow::Place, Failure>&& turn) {
            if (auto* const place = std::get_if<ClaimWindow::Place>(&turn)) {
                began.push_back(number);
                places.push_back(std::move(*place));
            } else {
                failed.emplace_back(number, std::get<Failure>(turn));
            }
        });
    }
    void end_first()
    {
        places.erase(places.begin());
        runtime->run_ready();
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::vector<int> began;
    std::vector<std::pair<int, Failure>> failed;
    std::vector<ClaimWindow::Place> places;
    std::shared_ptr<ClaimWindow> window;
};

std::shared_ptr<RequestMark> abandoned_mark()
{
    auto mark = std::make_shared<RequestMark>();
    mark->ended = true;
    return mark;
}

} // namespace

TEST_CASE("claims begin at once while a window has room, and then in their order as others end")
{
    WindowTest test(2);
    for (int number = 1; number <= 5; ++number)
        test.claim(number);
    CHECK(test.began == std::vector{1, 2});
    CHECK(test.window->waiting() == 3);
    test.end_first();
    CHECK(test.began == std::vector{1, 2, 3});
    test.places.clear();
    test.runtime->run_ready();
    CHECK(test.began == std::vector{1, 2, 3, 4, 5});
    CHECK(test.window->begun() == 2);
    CHECK(test.failed.empty());
}

TEST_CASE("a claim never overtakes claims that wait for their turn")
{
    WindowTest test(1);
    test.claim(1);
    test.claim(2);
    test.places.clear();
    CHECK_FALSE(test.window->has_room());
    test.claim(3);
    CHECK(test.began == std::vector{1});
    test.runtime->run_ready();
    CHECK(test.began == std::vector{1, 2});
}

TEST_CASE("a claim whose deadline passes before its turn ends with the number of claims ahead of it")
{
    WindowTest test(2);
    for (int number = 1; number <= 4; ++number)
        test.claim(number);
    test.claim(5, test.runtime->now() + 1s);
    test.end_first();
    test.runtime->run_for(999ms);
    CHECK(test.failed.empty());
    test.runtime->run_for(1ms);
    REQUIRE(test.failed.size() == 1);
    CHECK(test.failed.front().first == 5);
    CHECK(test.failed.front().second.was_dropped());
    CHECK(test.failed.front().second.detail == "3 claims of this process were ahead of it");
    CHECK(test.window->waiting() == 1);
}

TEST_CASE("deadlines end waiting claims in any order of their arrival")
{
    WindowTest test(1);
    test.claim(1);
    test.claim(2, test.runtime->now() + 3s);
    test.claim(3, test.runtime->now() + 1s);
    test.claim(4, test.runtime->now() + 2s);
    test.runtime->run_for(5s);
    REQUIRE(test.failed.size() == 3);
    CHECK(test.failed[0].first == 3);
    CHECK(test.failed[1].first == 4);
    CHECK(test.failed[2].first == 2);
    CHECK(test.runtime->timers() == 0);
}

TEST_CASE("claims without an owner leave the window, and get no turn")
{
    WindowTest test(1);
    auto const mark = std::make_shared<RequestMark>();
    test.claim(1);
    test.claim(2, {Instant::max(), mark});
    test.claim(3);
    mark->ended = true;
    SECTION("when the store looks for them")
    {
        test.window->drop_abandoned();
        test.runtime->run_ready();
        REQUIRE(test.failed.size() == 1);
        CHECK(test.failed.front().second.was_dropped());
        CHECK(test.window->waiting() == 1);
    }
    SECTION("at their turn")
    {
        test.end_first();
        CHECK(test.began == std::vector{1, 3});
        REQUIRE(test.failed.size() == 1);
    }
}

TEST_CASE("where many claims wait, looks for those without an owner take a small part of the time")
{
    WindowTest test(1);
    test.claim(0);
    for (int number = 1; number <= 10'000; ++number)
        test.claim(number);
    test.claim(-1, {Instant::max(), abandoned_mark()});
    test.window->drop_abandoned();
    test.runtime->run_ready();
    CHECK(test.failed.size() == 1);
    test.claim(-2, {Instant::max(), abandoned_mark()});
    for (int i = 0; i < 1000; ++i)
        test.window->drop_abandoned();
    test.runtime->run_for(9ms);
    CHECK(test.failed.size() == 1);
    test.runtime->run_for(2ms);
    CHECK(test.failed.size() == 2);
    CHECK(test.runtime->timers() == 0);
}

TEST_CASE("a failure of the server ends all waiting claims, and later claims wait as before")
{
    WindowTest test(1);
    for (int number = 1; number <= 3; ++number)
        test.claim(number);
    test.window->fail_all(Failure::not_sent({}, "wrong password", true));
    CHECK(test.failed.empty());
    test.runtime->run_ready();
    REQUIRE(test.failed.size() == 2);
    CHECK(test.failed.front().second.fatal);
    CHECK(test.runtime->timers() == 0);
    test.claim(4);
    test.end_first();
    CHECK(test.began == std::vector{1, 4});
}

TEST_CASE("a claim that throws in its turn gives its place to the next one")
{
    WindowTest test(1);
    test.claim(1);
    test.window->begin(Instant::max(), [](std::variant<ClaimWindow::Place, Failure>&&) { throw 1; });
    test.claim(3);
    test.places.clear();
    CHECK_THROWS_AS(test.runtime->run_ready(), int);
    test.runtime->run_ready();
    CHECK(test.began == std::vector{1, 3});
}

TEST_CASE("on a new connection others begin, and the end of an earlier claim lets none begin", "[claims]")
{
    WindowTest test(2);
    for (int i = 1; i <= 6; ++i)
        test.claim(i);
    CHECK(test.began == std::vector{1, 2});
    test.window->begin_anew();
    test.runtime->run_ready();
    CHECK(test.began == std::vector{1, 2, 3, 4});
    test.end_first();
    CHECK(test.window->begun() == 2);
    CHECK(test.window->waiting() == 2);
    test.places.pop_back();
    test.runtime->run_ready();
    CHECK(test.began == std::vector{1, 2, 3, 4, 5});
}

TEST_CASE("a window that grows lets waiting claims begin, and one that shrinks ends none", "[claims]")
{
    WindowTest test(2);
    for (int i = 1; i <= 6; ++i)
        test.claim(i);
    test.window->resize(4);
    test.runtime->run_ready();
    CHECK(test.began == std::vector{1, 2, 3, 4});
    test.window->resize(0);
    test.end_first();
    test.end_first();
    test.end_first();
    CHECK(test.began == std::vector{1, 2, 3, 4});
    test.end_first();
    CHECK(test.began == std::vector{1, 2, 3, 4, 5});
}

} // namespace tenure::test
