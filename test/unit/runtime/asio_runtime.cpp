// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/asio_runtime.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace
{

using namespace std::chrono_literals;
namespace asio = boost::asio;
using tenure::Runtime;

struct RealTime {
    asio::io_context context;
    std::shared_ptr<Runtime> runtime = tenure::make_asio_runtime(context.get_executor(), {});

    template <class Work>
    void on_strand(Work work)
    {
        runtime->post(std::move(work));
        context.poll();
    }
};

} // namespace

TEST_CASE("timers ring in the order of their instants, never early, and what was cancelled stays silent")
{
    RealTime test;
    std::vector<int> rung;
    test.on_strand([&] {
        auto const now = test.runtime->now();
        test.runtime->call_at(now + 20ms, [&, due = now + 20ms] {
            CHECK(test.runtime->now() >= due);
            rung.push_back(2);
        });
        auto const cancelled = test.runtime->call_at(now + 10ms, [&] { rung.push_back(0); });
        test.runtime->call_at(now + 5ms, [&, cancelled] {
            rung.push_back(1);
            test.runtime->cancel(cancelled);
        });
        test.runtime->cancel(0);
        test.runtime->cancel(12345);
    });
    test.context.run();
    CHECK(rung == std::vector{1, 2});
}

TEST_CASE("a timer that is set for now again and again leaves turns to others")
{
    RealTime test;
    int rung = 0;
    bool heard = false;
    std::function<void()> again = [&] {
        // stands for work that another thread posts to the strand meanwhile
        if (++rung == 3)
            test.runtime->post([&] { heard = true; });
        if (!heard && rung < 1000)
            test.runtime->call_at(test.runtime->now(), again);
    };
    test.on_strand([&] { test.runtime->call_at(test.runtime->now(), again); });
    test.context.run();
    CHECK(heard);
    CHECK(rung < 1000);
}

TEST_CASE("a task that throws takes no other timer with it")
{
    RealTime test;
    bool rung = false;
    test.on_strand([&] {
        auto const now = test.runtime->now();
        // not before the loop below turns
        test.runtime->call_at(now + 100ms, [] { throw std::runtime_error("a user's"); });
        test.runtime->call_at(now + 100ms, [&] { rung = true; });
    });
    CHECK_THROWS_AS(test.context.run(), std::runtime_error);
    CHECK_FALSE(rung);
    test.context.run();
    CHECK(rung);
}

TEST_CASE("a timer that is set and cancelled, however far away, does not keep the loop for long")
{
    RealTime test;
    auto const begin = test.runtime->now();
    SECTION("at once")
    {
        test.on_strand([&] { test.runtime->cancel(test.runtime->call_at(begin + 1h, [] { FAIL("it rang"); })); });
    }
    SECTION("after others rang")
    {
        test.on_strand([&] {
            auto const far = test.runtime->call_at(begin + 1h, [] { FAIL("it rang"); });
            test.runtime->call_at(begin + 10ms, [] {});
            test.runtime->call_at(begin + 400ms, [&, far] { test.runtime->cancel(far); });
        });
    }
    SECTION("between two turns")
    {
        Runtime::TimerId far = 0;
        test.on_strand([&] { far = test.runtime->call_at(begin + 1h, [] { FAIL("it rang"); }); });
        test.context.run_for(10ms);
        test.on_strand([&] { test.runtime->cancel(far); });
    }
    test.context.run();
    CHECK(test.runtime->now() - begin < 10s);
}

TEST_CASE("a timer that is set before all others rings first, and the others still ring")
{
    RealTime test;
    std::vector<int> rung;
    test.on_strand([&] { test.runtime->call_at(test.runtime->now() + 60ms, [&] { rung.push_back(2); }); });
    test.on_strand([&] { test.runtime->call_at(test.runtime->now() + 10ms, [&] { rung.push_back(1); }); });
    test.on_strand([&] { test.runtime->call_at(test.runtime->now() - 1h, [&] { rung.push_back(0); }); });
    test.context.run();
    CHECK(rung == std::vector{0, 1, 2});
}
