// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tenure
{

namespace backend
{
class Runtime;
}

namespace detail
{
class TaskControl;

/** A function that begins a task. */
template <class Function>
concept TaskFunction = requires(std::decay_t<Function>& function) {
    { function() } -> std::same_as<boost::asio::awaitable<void>>;
};

/** Keeps the function alive while its task runs. By pointer, because g++ 12 destroys some arguments twice. */
template <class Function>
boost::asio::awaitable<void> call_task(std::unique_ptr<Function> function)
{
    co_await (*function)();
}
} // namespace detail

/** The tasks that run beside the work under a lease, such as the sessions of a server. The work of `async_run` and
 *  `async_with_lease` gets one as its second argument if it takes a `TaskGroup&`; the run owns it.
 *
 *  ```
 *  asio::awaitable<void> serve(tenure::Slot& slot, tenure::TaskGroup& sessions)
 *  {
 *      for (tcp::acceptor acceptor(...);;)
 *          sessions.spawn(session(co_await acceptor.async_accept(), slot), asio::detached);
 *  }
 *  ```
 *  The lease, the work's function and the group exist until the last task has ended, so tasks may refer to them. When
 *  the work has ended, when it is cancelled and when the lease is lost, the group takes no further task and ends those
 *  that it has:
 *
 *  - After a loss and after the failure of a task, tasks are cancelled (terminal) at once.
 *  - Otherwise they get `total` and have the time of `set_drain` until they are cancelled (terminal). The default is 0:
 *    terminal at once. A coroutine notices `total` only if it asks for it:
 *    `co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation())`.
 *
 *  The run waits for all tasks, then releases the lease and completes. It waits for tasks that ignore `terminal` for
 *  one second more, after a loss counted from the end of the validity. Then it logs their number and completes without
 *  a release: the lease is no longer valid, it is not renewed, and its key expires with the ttl.
 *
 *  @par Thread safety  All members may be called from any thread.
 *  @par Object lifetime  Until the last task and the work have ended.
 */
class TENURE_API TaskGroup
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    TaskGroup(TaskGroup const&) = delete;
    TaskGroup& operator=(TaskGroup const&) = delete;
    ~TaskGroup();

    /** The strand of the work and of all tasks. */
    [[nodiscard]] executor_type get_executor() const noexcept;

    /** Starts a task on the strand, never inside this call. Its exception cancels the work and all tasks, and becomes
     *  the result of the run. `operation_aborted` after a cancellation is no failure.
     *
     *  @param task  a coroutine, or a function without parameters that returns one and is kept until the task has ended
     *  @return false if the group takes no further task: this one is destroyed unstarted, and the work is cancelled
     *    again, because its last cancellation may have come between two operations */
    template <class Task>
        requires std::same_as<std::decay_t<Task>, boost::asio::awaitable<void>> || detail::TaskFunction<Task>
    bool spawn(Task&& task)
    {
        return start(awaitable_of(std::forward<Task>(task)), {});
    }

    /** Starts a task whose exception goes to the handler, and ends nothing else: the failure of one session must not
     *  end a server.
     *
     *  @param completion  a handler, or `asio::detached`, for `void(std::exception_ptr)`. It runs on its associated
     *    executor, by default on the strand; its cancellation slot cancels the task. It gets `operation_aborted` if the
     *    group was closed before the task could start */
    template <class Task, class CompletionToken>
        requires std::same_as<std::decay_t<Task>, boost::asio::awaitable<void>> || detail::TaskFunction<Task>
    bool spawn(Task&& task, CompletionToken&& completion)
    {
        bool started = false;
        auto const initiate = [&](auto handler) {
            started = start(awaitable_of(std::forward<Task>(task)), Handler(std::move(handler)));
        };
        using Returned =
            decltype(boost::asio::async_initiate<CompletionToken, void(std::exception_ptr)>(initiate, completion));
        static_assert(
            std::is_void_v<Returned>,
            "TaskGroup::spawn: the second argument is a handler for void(std::exception_ptr) or boost::asio::detached");
        boost::asio::async_initiate<CompletionToken, void(std::exception_ptr)>(initiate, completion);
        return started;
    }

    /** How long tasks may go on after the work has ended or was cancelled, but not after a loss. 0 or more; the default
     *  is 0. Counts for an end that begins later. */
    void set_drain(std::chrono::milliseconds drain);

    /** How many tasks have not ended. */
    [[nodiscard]] std::size_t size() const noexcept;
    /** True if `spawn` takes no further task. */
    [[nodiscard]] bool closed() const noexcept;

private:
    friend class detail::TaskControl;
    class State;
    using Handler = boost::asio::any_completion_handler<void(std::exception_ptr)>;

    explicit TaskGroup(std::shared_ptr<State> state) noexcept;

    template <class Task>
    [[nodiscard]] static boost::asio::awaitable<void> awaitable_of(Task&& task)
    {
        using Given = std::decay_t<Task>;
        if constexpr (std::same_as<Given, boost::asio::awaitable<void>>)
            return std::forward<Task>(task);
        else
            return detail::call_task(std::make_unique<Given>(std::forward<Task>(task)));
    }
    /** @param handler  empty: a failure of the task is one of the group */
    bool start(boost::asio::awaitable<void> task, Handler handler);

    std::shared_ptr<State> state_;
};

namespace detail
{

/** The run's side of a TaskGroup. Everything but the constructor runs on the strand. */
class TENURE_API TaskControl
{
public:
    /** @param token  of the lease, whose store has clock, timers and log
     *  @param lease  its name, for the log */
    TaskControl(boost::asio::any_io_executor strand, CancellationToken const& token, std::string lease);
    TaskControl(TaskControl const&) = delete;
    TaskControl& operator=(TaskControl const&) = delete;
    ~TaskControl();

    [[nodiscard]] TaskGroup& tasks() noexcept { return tasks_; }

    /** @param held  the lease and this object, which each task keeps alive
     *  @param run  also kept alive, until the run gives up its tasks
     *  @param failed  called when a task has failed
     *  @param refused  called after a task was refused: the work goes on, although it was cancelled */
    void begin(
        std::weak_ptr<void> held, std::weak_ptr<void> run, std::function<void()> failed, std::function<void()> refused);
    /** The caller cancels the run. */
    void cancel(boost::asio::cancellation_type type);
    /** The lease is lost.
     *  @param valid_until  unset: it is no longer valid */
    void lost(std::optional<Instant> valid_until);
    /** The work has ended. @param joined  called once: false if tasks are left that ignore their cancellation */
    void join(std::function<void(bool)> joined);
    /** The first failure of a task. */
    [[nodiscard]] std::exception_ptr failure() const;

private:
    [[nodiscard]] static std::shared_ptr<backend::Runtime> runtime_of(CancellationToken const& token);

    std::shared_ptr<TaskGroup::State> state_;
    TaskGroup tasks_;
};

} // namespace detail
} // namespace tenure
