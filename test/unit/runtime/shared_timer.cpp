// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/fake_runtime.hpp"

#include "runtime/shared_timer.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace
{

using namespace std::chrono_literals;
using tenure::Instant;
using tenure::test::FakeRuntime;

/** Refuses to set the next timer, if it is told to. */
class ScarceRuntime final : public FakeRuntime
{
public:
    TimerId call_at(Instant when, tenure::Task task) override
    {
        if (std::exchange(out_of_memory, false))
            throw std::bad_alloc();
        return FakeRuntime::call_at(when, std::move(task));
    }
    bool out_of_memory = false;
};

struct Owner : std::enable_shared_from_this<Owner> {
    explicit Owner(tenure::Runtime& where)
        : runtime(where)
        , timer(*this, where)
    {
    }
    void give_timers()
    {
        rang.push_back(runtime.now());
        if (std::exchange(fails, false))
            throw std::bad_alloc();
    }

    tenure::Runtime& runtime;
    tenure::engine::SharedTimer<Owner> timer;
    std::vector<Instant> rang;
    bool fails = false;
};

struct TimerSetting {
    ScarceRuntime runtime;
    std::shared_ptr<Owner> owner = std::make_shared<Owner>(runtime);
    Instant begin = runtime.now();
};

} // namespace

TEST_CASE("a shared timer rings once, by the first instant that was asked for")
{
    TimerSetting test;
    test.owner->timer.ring_by(test.begin + 100ms);
    test.owner->timer.ring_by(test.begin + 40ms);
    test.owner->timer.ring_by(test.begin + 60ms);
    test.runtime.run_for(1s);
    CHECK(test.owner->rang == std::vector{test.begin + 40ms});
    test.owner->timer.ring_by(test.begin + 1100ms);
    test.runtime.run_for(1s);
    CHECK(test.owner->rang == std::vector{test.begin + 40ms, test.begin + 1100ms});
}

TEST_CASE("a shared timer rings soon enough not to keep the loop running for nothing")
{
    TimerSetting test;
    test.owner->timer.ring_by(Instant::max() - 1ns);
    test.runtime.run_for(1s);
    CHECK(test.owner->rang == std::vector{test.begin + 250ms});
    CHECK(test.runtime.timers() == 0);
}

TEST_CASE("a shared timer that is stopped, or whose owner is gone, does not ring")
{
    TimerSetting test;
    test.owner->timer.ring_by(test.begin + 10ms);
    test.owner->timer.stop();
    CHECK(test.runtime.timers() == 0);
    test.runtime.run_for(100ms);
    CHECK(test.owner->rang.empty());
    test.owner->timer.ring_by(test.begin + 110ms);
    test.owner.reset();
    test.runtime.run_for(1s);
}

TEST_CASE("a shared timer that could not be set is set by whoever asks next")
{
    TimerSetting test;
    test.runtime.out_of_memory = true;
    CHECK_THROWS_AS(test.owner->timer.ring_by(test.begin + 10ms), std::bad_alloc);
    test.owner->timer.ring_by(test.begin + 20ms);
    test.runtime.run_for(1s);
    CHECK(test.owner->rang == std::vector{test.begin + 20ms});
}

TEST_CASE("a shared timer whose ring failed rings again a moment later")
{
    TimerSetting test;
    test.owner->fails = true;
    test.owner->timer.ring_by(test.begin + 10ms);
    CHECK_THROWS_AS(test.runtime.run_for(1s), std::bad_alloc);
    test.runtime.run_for(1s);
    CHECK(test.owner->rang == std::vector{test.begin + 10ms, test.begin + 20ms});
}
