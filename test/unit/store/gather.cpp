// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Replies to operations that a request begins together.
#include "store/gather.hpp"

#include "unit/fake_runtime.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A request that adds the numbers of its operations, and the operations that wait for their number. */
struct GatherTest {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::vector<OneShot<void(int&&)>> waiting;
    std::optional<int> reply;

    /** @param owned  owned by the coroutine */
    static store::Request<int> sum(GatherTest& test, std::size_t count, Instant deadline, std::shared_ptr<int> owned)
    {
        int total = *owned;
        auto numbers = store::gather(*test.runtime, deadline, [&](auto const& reply_to) {
            for (std::size_t i = 0; i < count; ++i)
                test.waiting.emplace_back(reply_to([&](int&& number) { total += number; }));
        });
        co_await numbers;
        co_return total;
    }

    void start(std::size_t count, Instant deadline, std::shared_ptr<int> owned = std::make_shared<int>(0))
    {
        sum(*this, count, deadline, std::move(owned)).start([this](int&& total) { reply = total; });
    }
};

} // namespace

TEST_CASE("gather completes when all its operations have replied, in any order")
{
    GatherTest test;
    test.start(3, Instant::max());
    test.waiting[2](4);
    test.waiting[0](1);
    CHECK_FALSE(test.reply);
    test.waiting[1](2);
    CHECK(test.reply == 7);
}

TEST_CASE("gather completes at its deadline with the replies until then, and drops later replies")
{
    GatherTest test;
    auto const owned = std::make_shared<int>(100);
    test.start(2, test.runtime->now() + 10ms, owned);
    test.waiting[0](1);
    test.runtime->run_for(9ms);
    CHECK_FALSE(test.reply);
    test.runtime->run_for(1ms);
    CHECK(test.reply == 101);
    CHECK(owned.use_count() == 1);
    test.waiting[1](2);
    CHECK(test.reply == 101);
}

TEST_CASE("gather without operations completes in a later turn of the loop")
{
    GatherTest test;
    test.start(0, Instant::max());
    CHECK_FALSE(test.reply);
    test.runtime->run_ready();
    CHECK(test.reply == 0);
}

TEST_CASE("gather whose operations are dropped takes the coroutine with it, and its timer")
{
    GatherTest test;
    auto const owned = std::make_shared<int>(0);
    test.start(2, test.runtime->now() + 10ms, owned);
    CHECK(owned.use_count() == 2);
    test.waiting.clear();
    CHECK(owned.use_count() == 1);
    test.runtime->run_for(20ms);
    CHECK_FALSE(test.reply);
}

TEST_CASE("gather whose operations cannot all begin never completes, and the exception reaches the caller")
{
    FakeRuntime runtime;
    std::vector<OneShot<void(int&&)>> waiting;
    bool completed = false;
    auto const steps = [](FakeRuntime& on, std::vector<OneShot<void(int&&)>>& begun) -> store::Request<int> {
        auto numbers = store::gather(on, Instant::max(), [&](auto const& reply_to) {
            begun.emplace_back(reply_to([](int&&) {}));
            throw std::runtime_error("no memory");
        });
        co_await numbers;
        co_return 0;
    };
    CHECK_THROWS_AS(steps(runtime, waiting).start([&](int&&) { completed = true; }), std::runtime_error);
    waiting.front()(1);
    runtime.run_ready();
    CHECK_FALSE(completed);
}

} // namespace tenure::test
