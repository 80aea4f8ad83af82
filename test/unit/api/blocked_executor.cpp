// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An executor that is blocked while it should renew.
#include "unit/api/one_lock.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

struct Holding : OneLock {
    Holding()
        : OneLock(6s)
    {
        hold();
    }

    /** Nothing runs until the next timer is so late. */
    void block(std::chrono::milliseconds late)
    {
        runtime->skip(runtime->next_timer() - runtime->now() + late);
        pass(20ms);
    }

    [[nodiscard]] std::size_t warnings() const { return runtime->logged("renewals ran"); }
};

} // namespace

TEST_CASE("an executor that is blocked for more than a sixth of the ttl is reported, once a minute")
{
    Holding test;
    test.block(990ms);
    CHECK(test.warnings() == 0);
    test.block(1200ms);
    REQUIRE(test.warnings() == 1);
    CHECK(
        test.runtime->logged("scripted://: renewals ran 1200 ms late, and the shortest ttl held is 6000 ms: "
                             "handlers block the executor that renews") == 1);
    test.block(1200ms);
    CHECK(test.warnings() == 1);
    test.pass(60s);
    CHECK(test.warnings() == 1);
    test.block(1200ms);
    CHECK(test.warnings() == 2);
    CHECK(test.holder.holding.valid());
}

TEST_CASE("where a store renews late on a thread of its own, no handler is to blame")
{
    Holding test;
    test.runtime->thread = OwnThread::make(test.runtime->user_executor());
    test.pass(3s);
    test.block(1200ms);
    REQUIRE(test.warnings() == 1);
    CHECK(
        test.runtime->logged("renewals ran 1200 ms late, and the shortest ttl held is 6000 ms: the process was "
                             "stopped, or the machine is overloaded; use a longer ttl") == 1);
}

TEST_CASE("a blocked executor is no trouble while nothing is held")
{
    Holding test;
    test.holder.holding.async_release([](error_code, ReleaseOutcome) {});
    test.runtime->run_ready();
    test.answer_release();
    test.runtime->skip(1min);
    test.pass(20ms);
    CHECK(test.warnings() == 0);
}

} // namespace tenure::test
