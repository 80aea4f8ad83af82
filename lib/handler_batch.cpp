// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "handler_batch.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace tenure
{

namespace
{

/// the innermost batch of this thread
thread_local HandlerBatch* innermost = nullptr;

} // namespace

HandlerBatch::HandlerBatch(Runtime const& runtime) noexcept
    : runtime_(runtime)
    , outer_(std::exchange(innermost, this))
{
}

HandlerBatch::~HandlerBatch()
{
    innermost = outer_;
    try {
        for (auto& handler : handlers_)
            if (handler)
                asio::post(runtime_.executor(), std::move(handler));
        for (auto& task : tasks_)
            if (task)
                asio::post(runtime_.strand(), std::move(task));
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: they are destroyed uncalled, as Asio itself would do
    }
}

bool HandlerBatch::take_handler(Task& handler)
{
    if (innermost == nullptr || innermost->phase_ != Phase::collecting)
        return false;
    innermost->handlers_.push_back(std::move(handler));
    return true;
}

bool HandlerBatch::take_task(Runtime const& runtime, Task& task)
{
    if (innermost == nullptr || innermost->phase_ != Phase::calling || &innermost->runtime_ != &runtime)
        return false;
    innermost->tasks_.push_back(std::move(task));
    return true;
}

void HandlerBatch::run()
{
    phase_ = Phase::calling;
    for (auto& handler : handlers_)
        std::move(handler)();
    phase_ = Phase::over;
    for (auto& task : tasks_)
        asio::dispatch(runtime_.strand(), std::move(task));
}

} // namespace tenure
