// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/alarm.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tenure
{

/** The tasks of one run of work. Everything runs on the strand of the work, unless stated otherwise. */
class TaskGroup::State : public std::enable_shared_from_this<TaskGroup::State>
{
public:
    State(asio::any_io_executor strand, std::shared_ptr<Runtime> runtime, std::string lease);

    // -- any thread --

    [[nodiscard]] asio::any_io_executor const& strand() const noexcept { return strand_; }
    [[nodiscard]] std::size_t size() const noexcept { return open_.load(std::memory_order_acquire); }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
    void set_drain(std::chrono::milliseconds drain) noexcept { drain_.store(drain, std::memory_order_relaxed); }
    bool start(asio::awaitable<void> task, Handler handler);

    // -- the run's --

    void begin(
        std::weak_ptr<void> held, std::weak_ptr<void> run, std::function<void()> failed, std::function<void()> refused);
    /** The run ends without a loss.
     *  @param must_end  false: the work decides, which got `total` */
    void stop(bool must_end);
    /** The caller cancels the run. */
    void cancel(asio::cancellation_type type);
    /** Cancels all tasks (terminal), and waits for them until a second after this instant. */
    void terminate(Instant limit);
    void join(std::function<void(bool)> joined);
    [[nodiscard]] std::exception_ptr failure() const { return failure_; }
    [[nodiscard]] Instant now() const noexcept { return runtime_->now(); }

private:
    enum class Stage {
        works,
        /// tasks got `total`
        drains,
        /// tasks got `terminal`
        terminates,
        /// all have ended, or those that are left ignored it
        over
    };
    /** A task that was taken. Owned by the functions that begin and end it. */
    struct Task {
        Handler handler;
        /// of the handler, kept running
        asio::any_completion_executor completes_on;
        /// see `TaskControl::begin`
        std::shared_ptr<void> held;
        std::shared_ptr<void> run;
        asio::cancellation_signal cancel;
    };
    using TaskPtr = std::shared_ptr<Task>;

    /** Counts a task. False: the group takes no further one. Any thread. */
    bool take();
    void run(asio::awaitable<void> work, TaskPtr const& task);
    void ended(TaskPtr const& task, std::exception_ptr failure);
    /** Passes the end of a task to its handler. */
    void notify(Task& task, std::exception_ptr failure);
    [[nodiscard]] std::vector<TaskPtr> running() const;
    void close();
    void emit(asio::cancellation_type type);
    void wake_at(Instant when);
    void time_is_over();
    void give_up();
    void notify_if_joined();

    asio::any_io_executor strand_;
    std::shared_ptr<Runtime> runtime_;
    /// for the log
    std::string lease_;
    /// guards that no task is counted after the group was closed
    std::mutex mutex_;
    std::atomic<bool> closed_{false};
    /// tasks that were taken and have not ended
    std::atomic<std::size_t> open_{0};
    std::atomic<std::chrono::milliseconds> drain_{std::chrono::milliseconds{0}};
    /// see `TaskControl::begin`; set before the work begins
    std::weak_ptr<void> held_;
    std::weak_ptr<void> run_;
    /// ends the work when a task fails
    std::function<void()> failed_;
    /// cancels the work again
    std::function<void()> refused_;
    /// tasks that run
    std::vector<std::weak_ptr<Task>> tasks_;
    Stage stage_ = Stage::works;
    Alarm alarm_;
    /// set once the work has ended, until it is called
    std::function<void(bool)> joined_;
    std::exception_ptr failure_;
};

} // namespace tenure
