// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/request.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace
{

using namespace tenure;

using Number = std::variant<int, Failure>;
using Text = std::variant<std::string, Failure>;

/** Operations that wait to be completed. */
struct Operations {
    std::vector<OneShot<void(Number&&)>> waiting;

    void complete(Number result)
    {
        auto handler = std::move(waiting.back());
        waiting.pop_back();
        handler(std::move(result));
    }
};

store::Step<Number> begin(Operations& operations)
{
    return store::Step<Number>(
        [&operations](OneShot<void(Number&&)> handler) { operations.waiting.push_back(std::move(handler)); });
}

store::Step<Number> at_once(int number)
{
    return store::Step<Number>([number](OneShot<void(Number&&)> handler) { handler(Number(number)); });
}

store::Step<Number> never_begins()
{
    return store::Step<Number>([](OneShot<void(Number&&)> const&) { throw std::runtime_error("no memory"); });
}

store::Request<Text> begin_one_and_fail(Operations& operations, std::shared_ptr<int> owned)
{
    auto first = begin(operations);
    *owned += co_await first;
    auto second = never_begins();
    *owned += co_await second;
    co_return std::string("not reached");
}

store::Request<Text> sum(Operations& operations, int steps, std::shared_ptr<int> owned)
{
    int total = 0;
    for (int step = 0; step < steps; ++step) {
        auto next = begin(operations);
        total += co_await next;
    }
    auto last = at_once(*owned);
    total += co_await last;
    co_return std::to_string(total);
}

store::Request<Text> together(std::vector<OneShot<void(int&&)>>& waiting, std::size_t count)
{
    auto all = store::all_of<int>(
        count, [&](std::size_t, OneShot<void(int&&)> handler) { waiting.push_back(std::move(handler)); });
    std::string text;
    auto const results = co_await all;
    for (auto const result : results)
        text += std::to_string(result);
    co_return std::move(text);
}

} // namespace

TEST_CASE("a coroutine of steps returns its reply, and owns nothing when its handler is called")
{
    Operations operations;
    auto owned = std::make_shared<int>(100);
    std::string reply;
    sum(operations, 2, owned).start([&](Text&& text) {
        reply = std::get<std::string>(text);
        CHECK(owned.use_count() == 1);
    });
    REQUIRE(operations.waiting.size() == 1);
    operations.complete(1);
    CHECK(reply.empty());
    operations.complete(2);
    CHECK(reply == "103");
    CHECK(operations.waiting.empty());
}

TEST_CASE("a step that fails ends the coroutine with its failure")
{
    Operations operations;
    auto owned = std::make_shared<int>(100);
    std::string detail;
    sum(operations, 2, owned).start([&](Text&& text) {
        detail = std::get<Failure>(text).detail;
        CHECK(owned.use_count() == 1);
    });
    operations.complete(Failure::unknown(errc::store_unavailable, "no reply to the first step, which is the only one"));
    CHECK(detail == "no reply to the first step, which is the only one");
    CHECK(operations.waiting.empty());
}

TEST_CASE("a step whose handler is dropped takes the coroutine with it")
{
    Operations operations;
    auto owned = std::make_shared<int>(100);
    auto handler_owns = std::make_shared<int>(0);
    bool called = false;
    sum(operations, 2, owned).start([&called, handler_owns](Text&&) { called = true; });
    operations.complete(1);
    CHECK(owned.use_count() == 2);
    operations.waiting.clear();
    CHECK(owned.use_count() == 1);
    CHECK(handler_owns.use_count() == 1);
    CHECK_FALSE(called);
}

TEST_CASE("operations that begin together complete with all results, in the order in which they began")
{
    std::vector<OneShot<void(int&&)>> waiting;
    std::string reply = "none";
    auto const take = [&](Text&& text) { reply = std::get<std::string>(text); };
    together(waiting, 3).start(take);
    REQUIRE(waiting.size() == 3);
    waiting[2](3);
    waiting[0](1);
    CHECK(reply == "none");
    waiting[1](2);
    CHECK(reply == "123");
    together(waiting, 0).start(take);
    CHECK(reply.empty());
}

TEST_CASE("a coroutine that is never started leaves nothing behind")
{
    Operations operations;
    auto owned = std::make_shared<int>(100);
    {
        auto const unused = sum(operations, 1, owned);
        CHECK(owned.use_count() == 2);
    }
    CHECK(owned.use_count() == 1);
}

TEST_CASE(
    "the exception of a step that cannot begin reaches the caller that ran the coroutine, and destroys the coroutine")
{
    Operations operations;
    auto owned = std::make_shared<int>(100);
    auto handler_owns = std::make_shared<int>(0);
    bool called = false;
    begin_one_and_fail(operations, owned).start([&called, handler_owns](Text&&) { called = true; });
    REQUIRE(operations.waiting.size() == 1);
    CHECK_THROWS_AS(operations.complete(1), std::runtime_error);
    CHECK(*owned == 101);
    CHECK(owned.use_count() == 1);
    CHECK(handler_owns.use_count() == 1);
    CHECK_FALSE(called);
}
