// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "handler_batch.hpp"

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
            asio::post(runtime_.executor(), std::move(handler));
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: they are destroyed uncalled, as Asio itself would do
    }
}

bool HandlerBatch::take(Task& handler)
{
    if (innermost == nullptr || innermost->phase_ != Phase::collecting)
        return false;
    innermost->handlers_.push_back(std::move(handler));
    return true;
}

bool HandlerBatch::calls_the_only_one() noexcept
{
    return innermost != nullptr && innermost->phase_ == Phase::calling;
}

void HandlerBatch::run()
{
    phase_ = Phase::over;
    if (handlers_.size() != 1)
        return;
    auto handler = std::move(handlers_.front());
    handlers_.clear();
    phase_ = Phase::calling;
    std::move(handler)();
    phase_ = Phase::over;
}

} // namespace tenure
