// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The end of tasks beside the work under a lease.
#include "task_group_fixture.hpp"

#include <catch2/generators/catch_generators.hpp>

namespace tenure::test
{

using Log = std::vector<std::string>;

TEST_CASE(
    "tasks run beside the work, on its strand, and after its end they are cancelled, joined, and the lease released")
{
    TaskRun test;
    test.start(test.work([&](TaskGroup& tasks) {
        CHECK(tasks.spawn(TaskRun::session(&test, "a")));
        CHECK(tasks.spawn(TaskRun::session(&test, "b"), asio::detached));
        CHECK(tasks.size() == 2);
    }));
    CHECK(test.task_gate.waiting() == 2);
    CHECK_FALSE(test.group->closed());
    test.end_work();
    CHECK(test.log == Log{"work ended", "a cancelled ended", "b cancelled ended"});
    test.answer_release();
    CHECK(test.result == error_code());
    CHECK(test.log.back() == "run ended");
}

TEST_CASE("a task that has ended by itself is gone from the group")
{
    TaskRun test;
    test.start(test.work([&](TaskGroup& tasks) { tasks.spawn(TaskRun::session(&test, "a")); }));
    test.end_tasks();
    CHECK(test.group->size() == 0);
    CHECK_FALSE(test.result);
    test.end_work();
    test.answer_release();
    CHECK(test.result == error_code());
}

TEST_CASE("with a drain tasks get total and go on until they end or the drain is over")
{
    TaskRun test;
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.set_drain(2s);
        tasks.spawn(TaskRun::draining_session(&test, "draining"));
        tasks.spawn(TaskRun::session(&test, "plain"));
    }));
    auto const by = GENERATE(CancelType::none, CancelType::terminal, CancelType::partial);
    if (by != CancelType::none)
        test.emit(by);
    // a coroutine ends at no other type by itself
    if (by != CancelType::terminal)
        test.end_work();
    CHECK(std::ranges::find(test.log, "draining cancelled ended") != test.log.end());
    CHECK(test.task_gate.waiting() == 1);
    test.runtime->run_for(1990ms);
    CHECK(test.task_gate.waiting() == 1);
    test.runtime->run_for(10ms);
    CHECK(test.log.back() == "plain cancelled ended");
    test.answer_release();
    CHECK(test.log.back() == "run ended");
}

TEST_CASE("a second cancellation ends a drain")
{
    TaskRun test;
    test.start_with_session(1min);
    auto const first = GENERATE(CancelType::terminal, CancelType::partial);
    auto const second = GENERATE(CancelType::terminal, CancelType::partial);
    test.emit(first);
    CHECK(test.task_gate.waiting() == 1);
    test.emit(CancelType::none);
    CHECK(test.task_gate.waiting() == 1);
    test.emit(second);
    CHECK(test.log.back() == "plain cancelled ended");
    test.end_work();
    test.answer_release();
    bool const work_ended = first == CancelType::terminal || second == CancelType::terminal;
    CHECK(test.result == (work_ended ? make_error_code(asio::error::operation_aborted) : error_code()));
}

TEST_CASE("a run that has ended leaves no timer, which would keep the context running")
{
    TaskRun test;
    auto const drain = GENERATE(0min, 1min);
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.set_drain(drain);
        tasks.spawn(TaskRun::draining_session(&test, "draining"));
    }));
    test.work_gate.open();
    test.runtime->run_ready();
    test.answer_release();
    CHECK(test.log.back() == "run ended");
    // the store's own
    CHECK(test.runtime->timers() == 1);
}

TEST_CASE("total passes to the work, which decides, and to tasks with a drain; the group is closed")
{
    TaskRun test;
    bool const drains = GENERATE(false, true);
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.set_drain(drains ? 1min : 0min);
        tasks.spawn(TaskRun::draining_session(&test, "draining"));
    }));
    test.emit(CancelType::total);
    CHECK(test.group->closed());
    CHECK_FALSE(test.group->spawn(TaskRun::session(&test, "late")));
    CHECK(test.task_gate.waiting() == (drains ? 0 : 1));
    // the work ignores total
    CHECK(test.work_gate.waiting() == 1);
    test.end_work();
    CHECK(test.task_gate.waiting() == 0);
    test.answer_release();
    CHECK(test.result == error_code());
}

TEST_CASE("a loss cancels tasks at once whatever the drain, and the run goes on with another lease and group")
{
    TaskRun test;
    int rounds = 0;
    test.start(test.work([&](TaskGroup& tasks) {
        ++rounds;
        tasks.set_drain(1min);
        tasks.spawn(TaskRun::session(&test, "plain"));
    }));
    test.evict();
    CHECK(test.log == Log{"plain cancelled ended"});
    test.answer_release();
    test.grant_claim();
    CHECK(rounds == 2);
    CHECK(test.task_gate.waiting() == 1);
    test.task_gate.open();
    test.end_work();
    test.answer_release();
    CHECK(test.result == error_code());
}

TEST_CASE("a loss during a drain ends it")
{
    TaskRun test;
    test.start_with_session(1min);
    test.end_work();
    CHECK(test.log == Log{"work ended"});
    test.evict();
    CHECK(test.log.back() == "plain cancelled ended");
    // the work had ended by itself, so the run has
    test.answer_release();
    CHECK(test.result == error_code());
    CHECK(test.backend->claims.empty());
}

TEST_CASE("a failure of a task cancels the work and all tasks, and is the result of the run")
{
    TaskRun test;
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.set_drain(1min);
        tasks.spawn(TaskRun::failing_session(&test));
    }));
    test.task_gate.open();
    test.group->spawn(TaskRun::session(&test, "other"));
    test.runtime->run_ready();
    CHECK(test.work_gate.waiting() == 0);
    CHECK(test.task_gate.waiting() == 0);
    test.answer_release();
    CHECK(test.words == "reset by peer");
}

TEST_CASE("a failure of a task with a handler goes there, and ends nothing")
{
    TaskRun test;
    std::string told;
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.spawn(TaskRun::failing_session(&test), asio::detached);
        tasks.spawn(TaskRun::failing_session(&test), [&](std::exception_ptr const& failure) {
            try {
                std::rethrow_exception(failure);
            } catch (std::runtime_error const& error) {
                told = error.what();
            }
        });
    }));
    test.end_tasks();
    CHECK(told == "reset by peer");
    CHECK(test.work_gate.waiting() == 1);
    CHECK(test.group->size() == 0);
    test.end_work();
    test.answer_release();
    CHECK(test.result == error_code());
}

TEST_CASE("tasks that are cancelled fail no run, other exceptions after a cancellation do")
{
    TaskRun test;
    bool const fails = GENERATE(false, true);
    test.start(test.work([&](TaskGroup& tasks) {
        // ends with operation_aborted, or with its own exception
        tasks.spawn([&test, fails]() -> asio::awaitable<void> {
            try {
                co_await test.task_gate.async_wait(asio::deferred);
            } catch (std::exception const&) {
                if (!fails)
                    throw;
            }
            throw std::runtime_error("cannot clean up");
        });
    }));
    test.end_work();
    test.answer_release();
    CHECK(test.words == (fails ? "cannot clean up" : ""));
}

TEST_CASE("an exception of the work waits for the tasks, which may use the lease until then")
{
    TaskRun test;
    test.start([&](Slot& granted, TaskGroup& tasks) -> asio::awaitable<void> {
        test.slot = &granted;
        tasks.set_drain(2s);
        tasks.spawn(TaskRun::session(&test, "plain"));
        throw std::runtime_error("serve failed");
        co_return;
    });
    CHECK(test.task_gate.waiting() + test.log.size() == 1);
    test.runtime->run_for(2s);
    test.answer_release();
    CHECK(test.words == "serve failed");
}

TEST_CASE("a task that ignores its cancellation is given up: no release, no renewal, and the run completes")
{
    TaskRun test;
    test.start(test.work([&](TaskGroup& tasks) { tasks.spawn(TaskRun::stuck_session(&test, "stuck")); }));
    test.work_gate.open();
    test.runtime->run_for(990ms);
    CHECK_FALSE(test.result);
    CHECK(test.slot->valid());
    test.runtime->run_for(10ms);
    CHECK(test.result == error_code());
    CHECK_FALSE(test.slot->valid());
    CHECK(test.backend->releases.empty());
    CHECK(test.runtime->logged("1 of its tasks ignore their cancellation"));
    test.backend->renewals.clear();
    test.runtime->run_for(20s);
    CHECK(test.backend->renewals.empty());
    // the task still finds its lease
    test.end_tasks();
    CHECK(test.log.back() == "stuck ended");
    CHECK(test.backend->releases.empty());
}

TEST_CASE("after a loss a run waits for a stuck task until a second after the validity")
{
    TaskRun test;
    test.start(test.work([&](TaskGroup& tasks) { tasks.spawn(TaskRun::stuck_session(&test, "stuck")); }));
    auto const valid_until = test.slot->valid_until();
    // no renewal is answered
    test.runtime->run_for(valid_until + 990ms - test.runtime->now());
    CHECK(test.slot->token().reason() == CancelReason::expired);
    CHECK(test.backend->claims.empty());
    test.runtime->run_for(20ms);
    // given up, and the run asks for another lease
    CHECK(test.backend->claims.size() == 1);
    test.task_gate.open();
    test.emit(CancelType::terminal);
    CHECK(test.result == make_error_code(asio::error::operation_aborted));
}

TEST_CASE("a closed group destroys a task unstarted, with its handler uncalled")
{
    TaskRun test;
    test.start_with_session(1min);
    test.end_work();
    bool called = false;
    CHECK_FALSE(test.group->spawn(TaskRun::session(&test, "late"), [&](std::exception_ptr) { called = true; }));
    test.end_tasks();
    CHECK_FALSE(called);
    CHECK(test.log == Log{"work ended", "plain ended"});
    test.answer_release();
}

TEST_CASE("work that misses its cancellation between two operations is cancelled again when it spawns")
{
    TaskRun test;
    bool const by_loss = GENERATE(false, true);
    int accepted = 0;
    test.start([&](Slot& granted, TaskGroup& tasks) -> asio::awaitable<void> {
        test.slot = &granted;
        // as a loop that looks at errors of its operations only
        co_await asio::this_coro::throw_if_cancelled(false);
        for (error_code error; !error;) {
            auto const waited = co_await test.work_gate.async_wait(asio::as_tuple(asio::deferred));
            error = std::get<0>(waited);
            if (!error) {
                ++accepted;
                tasks.spawn(TaskRun::session(&test, "session"), asio::detached);
            }
        }
        test.log.emplace_back("work ended");
    });
    test.end_work();
    CHECK(accepted == 1);
    // an operation has completed, and its coroutine has not gone on
    test.work_gate.open();
    if (by_loss)
        test.evict();
    else
        test.emit(CancelType::terminal);
    CHECK(test.work_gate.waiting() == 0);
    CHECK(std::ranges::find(test.log, "work ended") != test.log.end());
}

TEST_CASE("a task that is taken just before the end is destroyed, and its handler is called")
{
    TaskRun test;
    auto const alive = std::make_shared<int>();
    std::optional<error_code> told;
    auto const unstarted = [](std::shared_ptr<int>) -> asio::awaitable<void> { co_return; };
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.spawn([&]() -> asio::awaitable<void> {
            co_await test.task_gate.async_wait(asio::deferred);
            CHECK(tasks.spawn(unstarted(alive), [&](std::exception_ptr failure) { told = Ending(failure).code; }));
            throw std::runtime_error("before it starts");
        });
    }));
    test.end_tasks();
    CHECK(told);
    CHECK(alive.use_count() == 1);
}

TEST_CASE("a task whose handler has a cancellation slot is cancelled by it")
{
    TaskRun test;
    asio::cancellation_signal one;
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.spawn(TaskRun::session(&test, "one"), asio::bind_cancellation_slot(one.slot(), asio::detached));
        tasks.spawn(TaskRun::session(&test, "other"), asio::detached);
    }));
    one.emit(CancelType::terminal);
    test.runtime->run_ready();
    CHECK(test.log == Log{"one cancelled ended"});
    test.end_work();
    test.answer_release();
}

TEST_CASE("a function that is spawned lives as long as its task")
{
    TaskRun test;
    auto const alive = std::make_shared<int>(7);
    int seen = 0;
    test.start(test.work([&](TaskGroup& tasks) {
        tasks.spawn([&, kept = alive]() -> asio::awaitable<void> {
            co_await test.task_gate.async_wait(asio::deferred);
            seen = *kept;
        });
    }));
    CHECK(alive.use_count() == 2);
    test.end_tasks();
    CHECK(seen == 7);
    CHECK(alive.use_count() == 1);
    test.end_work();
    test.answer_release();
}

TEST_CASE("async_with_lease has tasks as well, and a result")
{
    ScriptedStore test;
    Gate gate;
    Lock const lock(*test.store, {.key = "k", .ttl = 5s});
    Attempt<Lease> attempt;
    test.acquire_at_once(attempt, lock, 5s);
    std::optional<int> result;
    auto work = [&](Lease& lease, TaskGroup& tasks) -> asio::awaitable<int> {
        tasks.spawn([&]() -> asio::awaitable<void> { co_await gate.async_wait(asio::deferred); });
        co_return lease.valid() ? 42 : 0;
    };
    async_with_lease(std::move(attempt.holding), work, [&](std::exception_ptr failure, int value) {
        CHECK_FALSE(failure);
        result = value;
    });
    test.runtime->run_ready();
    CHECK(gate.waiting() == 0);
    test.answer_release();
    CHECK(result == 42);
}

} // namespace tenure::test
