// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <tenure/run.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using CancelType = asio::cancellation_type;

/** A wait in virtual time that ends when the gate is opened or the wait is cancelled. */
class Gate
{
public:
    template <class CompletionToken>
    auto async_wait(CompletionToken&& completion)
    {
        return asio::async_initiate<CompletionToken, void(error_code)>(
            [this](auto handler) {
                auto slot = asio::get_associated_cancellation_slot(handler);
                auto const id = ++last_id_;
                auto const executor = asio::get_associated_executor(handler);
                if (slot.is_connected())
                    slot.assign([this, id](CancelType type) {
                        if (type != CancelType::none)
                            end(id, asio::error::operation_aborted);
                    });
                waiting_.push_back(
                    {id, [executor, kept = std::make_shared<decltype(handler)>(std::move(handler))](error_code error) {
                         asio::post(executor, [kept, error] { std::move (*kept)(error); });
                     }});
            },
            completion);
    }
    void open()
    {
        while (!waiting_.empty())
            end(waiting_.front().first, {});
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    void end(int id, error_code error)
    {
        auto const found = std::ranges::find(waiting_, id, [](auto const& one) { return one.first; });
        if (found == waiting_.end())
            return;
        auto const call = std::move(found->second);
        waiting_.erase(found);
        call(error);
    }

    int last_id_ = 0;
    std::vector<std::pair<int, std::function<void(error_code)>>> waiting_;
};

/** How a run or a service ended. */
struct Ending {
    error_code code;
    std::string words;

    explicit Ending(std::exception_ptr const& failure)
    {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (boost::system::system_error const& thrown) {
            code = thrown.code();
            words = thrown.what();
        } catch (std::exception const& thrown) {
            words = thrown.what();
        }
    }
};

/** Runs of work with tasks over a scripted store, in virtual time. */
struct TaskRun : ScriptedStore {
    static constexpr std::chrono::milliseconds ttl{10'000};

    SlotPool pool{*store, {.prefix = "pool:", .size = 4, .ttl = ttl}};
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    std::string words;
    /// what happened, in order
    std::vector<std::string> log;
    Gate work_gate;
    Gate task_gate;
    /// while the work runs
    TaskGroup* group = nullptr;
    Slot* slot = nullptr;

    TaskRun() = default;
    ~TaskRun()
    {
        for (int i = 0; i < 2; ++i)
            emit(CancelType::terminal);
        task_gate.open();
        work_gate.open();
        runtime->run_for(1s);
        answer_releases(Released{});
    }

    template <class Work>
    void start(Work work)
    {
        async_run(
            pool, std::move(work), {.wait = 1s},
            asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr failure) {
                Ending const ending(failure);
                result = ending.code;
                words = ending.words;
                log.emplace_back("run ended");
            }));
        runtime->run_ready();
        grant_claim();
    }
    void end_work()
    {
        work_gate.open();
        runtime->run_ready();
    }
    void end_tasks()
    {
        task_gate.open();
        runtime->run_ready();
    }
    void grant_claim() { ScriptedStore::grant_claim(ttl); }
    void answer_release()
    {
        REQUIRE(backend->releases.size() == 1);
        log.emplace_back("released");
        backend->answer(backend->releases, Released{});
        runtime->run_ready();
    }
    void emit(CancelType type)
    {
        cancel.emit(type);
        runtime->run_ready();
    }
    /** The store proves that the key has another owner. */
    void evict() { refuse_renewal(ttl); }

    /** Waits at the gate; the log has its end. */
    static asio::awaitable<void> session(TaskRun* self, std::string name)
    {
        try {
            co_await self->task_gate.async_wait(asio::deferred);
        } catch (boost::system::system_error const& error) {
            name += error.code() == asio::error::operation_aborted ? " cancelled" : " failed";
        }
        CHECK(self->slot->id() == 0);
        self->log.push_back(name + " ended");
    }
    /** A session that also ends on `total`. */
    static asio::awaitable<void> draining_session(TaskRun* self, std::string name)
    {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await session(self, std::move(name));
    }
    /** Ignores every cancellation. */
    static asio::awaitable<void> stuck_session(TaskRun* self, std::string name)
    {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await session(self, std::move(name));
    }
    static asio::awaitable<void> failing_session(TaskRun* self)
    {
        co_await self->task_gate.async_wait(asio::deferred);
        throw std::runtime_error("reset by peer");
    }
    /** The work: spawns by `begin`, then waits until it may end. */
    [[nodiscard]] auto work(std::function<void(TaskGroup&)> begin)
    {
        return [this, begin = std::move(begin)](Slot& granted, TaskGroup& tasks) {
            return run_work(this, &begin, granted, tasks);
        };
    }
    /** Work with one plain session. */
    void start_with_session(std::chrono::milliseconds drain)
    {
        start(work([this, drain](TaskGroup& tasks) {
            tasks.set_drain(drain);
            tasks.spawn(session(this, "plain"));
        }));
    }
    static asio::awaitable<void>
    run_work(TaskRun* self, std::function<void(TaskGroup&)> const* begin, Slot& granted, TaskGroup& tasks)
    {
        self->slot = &granted;
        self->group = &tasks;
        (*begin)(tasks);
        co_await self->work_gate.async_wait(asio::deferred);
        self->log.emplace_back("work ended");
    }
};

} // namespace tenure::test
