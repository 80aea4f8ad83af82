// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An executor that is blocked while it should renew.
#include "unit/scripted_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

struct Holding {
    ScriptedStore test;
    Lock lock{*test.store, {.key = "job", .ttl = 6s}};
    Attempt<Lease> holder;

    Holding()
    {
        holder.start(lock);
        test.runtime->run_ready();
        test.backend->answer(test.backend->claims, test.grant(6s));
        test.runtime->run_ready();
        REQUIRE(holder.holding.valid());
    }

    /** Lets time pass, and renews. */
    void pass(std::chrono::milliseconds time)
    {
        auto const end = test.runtime->now() + time;
        while (test.runtime->now() < end) {
            while (!test.backend->renewals.empty())
                test.backend->answer(test.backend->renewals, Renewed{6s, test.runtime->now()});
            test.runtime->run_for(10ms);
        }
    }

    /** Nothing runs until the next timer is so late. */
    void block(std::chrono::milliseconds late)
    {
        test.runtime->skip(test.runtime->next_timer() - test.runtime->now() + late);
        pass(20ms);
    }

    [[nodiscard]] std::size_t warnings() const { return test.runtime->logged("renewals ran"); }
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
        test.test.runtime->logged("scripted://: renewals ran 1200 ms late, and the shortest ttl held is 6000 ms: "
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
    test.test.runtime->thread = OwnThread::make(test.test.runtime->user_executor());
    test.pass(3s);
    test.block(1200ms);
    REQUIRE(test.warnings() == 1);
    CHECK(
        test.test.runtime->logged("renewals ran 1200 ms late, and the shortest ttl held is 6000 ms: the process was "
                                  "stopped, or the machine is overloaded; use a longer ttl") == 1);
}

TEST_CASE("a blocked executor is no trouble while nothing is held")
{
    Holding test;
    test.holder.holding.async_release([](error_code, ReleaseOutcome) {});
    test.test.runtime->run_ready();
    test.test.backend->answer(test.test.backend->releases, Released{});
    test.test.runtime->run_ready();
    test.test.runtime->skip(1min);
    test.pass(20ms);
    CHECK(test.warnings() == 0);
}

} // namespace tenure::test
