// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// TaskGroup: tasks beside the work under a lease, and their end.
#include "task_group.hpp"

#include "engine/token_state.hpp"
#include "runtime/failure_code.hpp"

#include <tenure/detail/on_cancel.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace tenure
{

namespace
{

/// for tasks that were cancelled (terminal)
constexpr std::chrono::seconds patience_with_tasks{1};

} // namespace

TaskGroup::State::State(asio::any_io_executor strand, std::shared_ptr<Runtime> runtime, std::string lease)
    : strand_(std::move(strand))
    , runtime_(std::move(runtime))
    , lease_(std::move(lease))
    , alarm_(runtime_)
{
}

bool TaskGroup::State::start(asio::awaitable<void> work, Handler handler)
{
    auto task = std::make_shared<Task>();
    task->held = held_.lock();
    task->run = run_.lock();
    if (handler) {
        auto const executor = asio::get_associated_executor(handler, asio::any_completion_executor(strand_));
        task->completes_on = asio::prefer(executor, asio::execution::outstanding_work_t::tracked);
        detail::on_cancel(
            asio::get_associated_cancellation_slot(handler), detail::every_cancellation,
            [weak = std::weak_ptr(task), strand = strand_](asio::cancellation_type type) {
                asio::dispatch(strand, [weak, type] {
                    if (auto const alive = weak.lock())
                        alive->cancel.emit(type);
                });
            });
    }
    task->handler = std::move(handler);
    if (!take()) {
        if (task->run)
            asio::post(strand_, [this, task] { refused_(); });
        return false;
    }
    try {
        // the task keeps this object alive
        asio::post(strand_, [this, work = std::move(work), task]() mutable { run(std::move(work), task); });
    } catch (...) {
        --open_;
        throw;
    }
    return true;
}

bool TaskGroup::State::take()
{
    std::lock_guard const lock(mutex_);
    if (closed())
        return false;
    ++open_;
    return true;
}

void TaskGroup::State::run(asio::awaitable<void> work, TaskPtr const& task)
{
    if (stage_ != Stage::works) {
        // a signal that was emitted before does not reach it
        // destroys it: an assignment would leak the coroutine (Boost 1.83)
        static_cast<void>(asio::awaitable<void>(std::move(work)));
        ended(task, std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted)));
        return;
    }
    tasks_.push_back(task);
    auto ends = [this, task](std::exception_ptr const& failure) { ended(task, failure); };
    asio::co_spawn(
        strand_, std::move(work),
        asio::bind_cancellation_slot(task->cancel.slot(), asio::bind_executor(strand_, std::move(ends))));
}

void TaskGroup::State::ended(TaskPtr const& task, std::exception_ptr failure)
{
    std::erase_if(tasks_, [&](auto const& one) { return one.lock() == task; });
    --open_;
    if (task->handler)
        notify(*task, failure);
    else if (failure && !failure_ && (stage_ == Stage::works || code_of(failure) != asio::error::operation_aborted)) {
        failure_ = failure;
        terminate(now());
        if (failed_)
            failed_();
    }
    notify_if_joined();
}

void TaskGroup::State::notify(Task& task, std::exception_ptr failure)
{
    if (auto slot = asio::get_associated_cancellation_slot(task.handler); slot.is_connected())
        slot.clear();
    // posted: what the handler throws is not for this object
    asio::post(
        strand_, [executor = std::move(task.completes_on), handler = std::move(task.handler), failure]() mutable {
            asio::dispatch(
                executor, [handler = std::move(handler), failure]() mutable { std::move(handler)(failure); });
        });
}

void TaskGroup::State::begin(
    std::weak_ptr<void> held, std::weak_ptr<void> run, std::function<void()> failed, std::function<void()> refused)
{
    held_ = std::move(held);
    run_ = std::move(run);
    failed_ = std::move(failed);
    refused_ = std::move(refused);
}

std::vector<TaskGroup::State::TaskPtr> TaskGroup::State::running() const
{
    std::vector<TaskPtr> all;
    for (auto const& task : tasks_)
        if (auto alive = task.lock())
            all.push_back(std::move(alive));
    return all;
}

void TaskGroup::State::close()
{
    std::lock_guard const lock(mutex_);
    closed_.store(true, std::memory_order_release);
}

void TaskGroup::State::emit(asio::cancellation_type type)
{
    // a copy, because a task may end inside
    for (auto const& task : running())
        task->cancel.emit(type);
}

void TaskGroup::State::stop(bool must_end)
{
    close();
    if (stage_ != Stage::works)
        return;
    auto const drain = drain_.load(std::memory_order_relaxed);
    if (drain > std::chrono::milliseconds{0}) {
        stage_ = Stage::drains;
        wake_at(now() + drain);
        emit(asio::cancellation_type::total);
    } else if (must_end) {
        terminate(now());
    }
}

void TaskGroup::State::cancel(asio::cancellation_type type)
{
    bool const must_end = detail::ends_by(type, detail::partial_cancellation);
    // also the second one: it ends a drain
    if (must_end && stage_ != Stage::works)
        terminate(now());
    else
        stop(must_end);
}

void TaskGroup::State::terminate(Instant limit)
{
    close();
    if (stage_ == Stage::over)
        return;
    bool const first = std::exchange(stage_, Stage::terminates) != Stage::terminates;
    auto const ends_at = limit + patience_with_tasks;
    if (first || ends_at < alarm_.due())
        wake_at(ends_at);
    if (first)
        emit(asio::cancellation_type::terminal);
}

void TaskGroup::State::wake_at(Instant when)
{
    alarm_.at(when, weak_from_this(), strand_, &State::time_is_over);
}

void TaskGroup::State::time_is_over()
{
    if (stage_ == Stage::drains)
        terminate(now());
    else if (stage_ == Stage::terminates)
        give_up();
}

void TaskGroup::State::give_up()
{
    stage_ = Stage::over;
    alarm_.cancel();
    if (auto const left = size(); left > 0)
        runtime_->post([runtime = runtime_, lease = lease_, left] {
            runtime->log(
                LogLevel::error, "the work under " + lease + " has ended, and " + std::to_string(left) +
                                     " of its tasks ignore their cancellation: the lease is not released, and its key "
                                     "expires after its ttl");
        });
    notify_if_joined();
}

void TaskGroup::State::join(std::function<void(bool)> joined)
{
    joined_ = std::move(joined);
    stop(true);
    notify_if_joined();
}

void TaskGroup::State::notify_if_joined()
{
    bool const all = size() == 0;
    if (!joined_ || (!all && stage_ != Stage::over))
        return;
    // a cancellation from now on sets no alarm
    stage_ = Stage::over;
    alarm_.cancel();
    auto const joined = std::exchange(joined_, nullptr);
    joined(all);
    // what is left must not keep the run
    for (auto const& task : running())
        task->run.reset();
}

TaskGroup::TaskGroup(std::shared_ptr<State> state) noexcept
    : state_(std::move(state))
{
}

TaskGroup::~TaskGroup() = default;

detail::TaskControl::TaskControl(asio::any_io_executor strand, CancellationToken const& token, std::string lease)
    : state_(std::make_shared<TaskGroup::State>(std::move(strand), runtime_of(token), std::move(lease)))
    , tasks_(state_)
{
}

detail::TaskControl::~TaskControl() = default;

std::shared_ptr<Runtime> detail::TaskControl::runtime_of(CancellationToken const& token)
{
    return token.state_ ? token.state_->shared_runtime() : nullptr;
}

void detail::TaskControl::begin(
    std::weak_ptr<void> held, std::weak_ptr<void> run, std::function<void()> failed, std::function<void()> refused)
{
    state_->begin(std::move(held), std::move(run), std::move(failed), std::move(refused));
}

void detail::TaskControl::cancel(asio::cancellation_type type)
{
    state_->cancel(type);
}

void detail::TaskControl::lost(std::optional<Instant> valid_until)
{
    state_->terminate(valid_until.value_or(state_->now()));
}

void detail::TaskControl::join(std::function<void(bool)> joined)
{
    state_->join(std::move(joined));
}

std::exception_ptr detail::TaskControl::failure() const
{
    return state_->failure();
}

TaskGroup::executor_type TaskGroup::get_executor() const noexcept
{
    return state_->strand();
}

bool TaskGroup::start(asio::awaitable<void> task, Handler handler)
{
    return state_->start(std::move(task), std::move(handler));
}

void TaskGroup::set_drain(std::chrono::milliseconds drain)
{
    state_->set_drain(drain);
}

std::size_t TaskGroup::size() const noexcept
{
    return state_->size();
}

bool TaskGroup::closed() const noexcept
{
    return state_->closed();
}

} // namespace tenure
