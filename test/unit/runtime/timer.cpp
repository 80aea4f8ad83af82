// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/timer.hpp"
#include "runtime/once_per_turn.hpp"
#include "unit/fake_runtime.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>

namespace tenure::test
{

namespace
{

using namespace std::chrono_literals;

struct Clockwork : std::enable_shared_from_this<Clockwork> {
    explicit Clockwork(std::shared_ptr<FakeRuntime> of)
        : runtime(std::move(of))
        , timer(*runtime)
    {
    }

    void ring() { ++rung; }
    void ring_again()
    {
        ++rung;
        timer.after(1s, weak_from_this(), &Clockwork::ring);
    }

    std::shared_ptr<FakeRuntime> runtime;
    int rung = 0;
    Timer timer;
    OncePerTurn soon;
};

struct WithClockwork {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<Clockwork> clockwork = std::make_shared<Clockwork>(runtime);
};

} // namespace

TEST_CASE_METHOD(WithClockwork, "a timer runs once, when its time has come", "[timer]")
{
    clockwork->timer.after(1s, clockwork->weak_from_this(), &Clockwork::ring);
    CHECK(clockwork->timer.pending());
    runtime->run_for(999ms);
    CHECK(clockwork->rung == 0);
    runtime->run_for(1ms);
    CHECK(clockwork->rung == 1);
    CHECK_FALSE(clockwork->timer.pending());
    runtime->run_for(5s);
    CHECK(clockwork->rung == 1);
}

TEST_CASE_METHOD(WithClockwork, "a timer that is set again forgets what it was set to", "[timer]")
{
    clockwork->timer.after(1s, clockwork->weak_from_this(), &Clockwork::ring);
    clockwork->timer.after(3s, clockwork->weak_from_this(), &Clockwork::ring);
    runtime->run_for(2s);
    CHECK(clockwork->rung == 0);
    runtime->run_for(1s);
    CHECK(clockwork->rung == 1);
}

TEST_CASE_METHOD(WithClockwork, "a timer may be set anew inside its call", "[timer]")
{
    clockwork->timer.after(1s, clockwork->weak_from_this(), &Clockwork::ring_again);
    runtime->run_for(1s);
    CHECK(clockwork->rung == 1);
    CHECK(clockwork->timer.pending());
    runtime->run_for(1s);
    CHECK(clockwork->rung == 2);
}

TEST_CASE_METHOD(
    WithClockwork, "a timer that is cancelled, or destroyed with its owner, leaves nothing behind", "[timer]")
{
    auto const none = runtime->next_timer();
    clockwork->timer.after(1s, clockwork->weak_from_this(), &Clockwork::ring);
    CHECK(runtime->next_timer() < none);
    clockwork->timer.cancel();
    CHECK(runtime->next_timer() == none);

    clockwork->timer.after(1s, clockwork->weak_from_this(), &Clockwork::ring);
    clockwork.reset();
    CHECK(runtime->next_timer() == none);
}

TEST_CASE_METHOD(WithClockwork, "work posted once per turn runs once per turn", "[timer]")
{
    for (int i = 0; i < 3; ++i)
        clockwork->soon.post(*runtime, clockwork->weak_from_this(), &Clockwork::ring);
    CHECK(clockwork->rung == 0);
    runtime->run_ready();
    CHECK(clockwork->rung == 1);
    clockwork->soon.post(*runtime, clockwork->weak_from_this(), &Clockwork::ring);
    runtime->run_ready();
    CHECK(clockwork->rung == 2);
}

} // namespace tenure::test
