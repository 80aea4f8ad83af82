// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "handler_batch.hpp"

#include "fork_guard.hpp"

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
    , collects_(runtime.own_thread() == nullptr)
    , outer_(std::exchange(innermost, this))
{
}

HandlerBatch::~HandlerBatch()
{
    innermost = outer_;
    try {
        if (first_)
            post(runtime_.user_executor(), std::move(first_));
        for (auto& handler : more_)
            post(runtime_.user_executor(), std::move(handler));
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: they are destroyed uncalled, as Asio itself would do
    }
    try {
        // in a fork, what it is about is the parent's
        if (afterthought_ && fork_generation_ == engine::fork_generation())
            runtime_.strand().execute([afterthought = std::move(afterthought_)] { afterthought->come(); });
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory, as above
    }
}

bool HandlerBatch::take(Task& handler)
{
    if (innermost == nullptr || !innermost->collects_)
        return false;
    if (innermost->first_)
        innermost->more_.push_back(std::move(handler));
    else
        innermost->first_ = std::move(handler);
    return true;
}

void HandlerBatch::post(asio::any_io_executor const& executor, Task handler)
{
    asio::post(executor, std::move(handler));
}

bool HandlerBatch::put_off(Runtime const& runtime, std::shared_ptr<Afterthought> afterthought) noexcept
{
    if (innermost == nullptr || &innermost->runtime_ != &runtime || !innermost->collects_ || !innermost->first_ ||
        !innermost->more_.empty() || innermost->afterthought_)
        return false;
    innermost->fork_generation_ = engine::fork_generation();
    innermost->afterthought_ = std::move(afterthought);
    return true;
}

bool HandlerBatch::forget(Afterthought const& afterthought) noexcept
{
    if (innermost == nullptr || innermost->afterthought_.get() != &afterthought)
        return false;
    innermost->afterthought_.reset();
    return true;
}

bool HandlerBatch::is_run_by(asio::any_io_executor const& executor) noexcept
{
    return innermost != nullptr && innermost->runtime_.io_executor() == executor;
}

bool HandlerBatch::is_run_below(Strand const& strand) noexcept
{
    return innermost != nullptr && (innermost->runtime_.strand() == strand || is_run_by(strand.get_inner_executor()));
}

void HandlerBatch::run()
{
    collects_ = false;
    if (!first_ || !more_.empty())
        return;
    auto handler = std::move(first_);
    std::move(handler)();
}

} // namespace tenure
