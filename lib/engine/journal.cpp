// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "journal.hpp"

#include <utility>

namespace tenure::engine
{

Journal::Journal(std::shared_ptr<Runtime> runtime, std::string store)
    : runtime_(std::move(runtime))
    , store_(std::move(store))
{
}

void Journal::log(LogLevel level, std::string_view line) const
{
    if (runtime_->logs(level))
        runtime_->log(level, store_ + ": " + std::string(line));
}

void Journal::trouble(error_code error, std::string detail)
{
    std::lock_guard const lock(mutex_);
    error_ = error;
    detail_ = std::move(detail);
    when_ = runtime_->now();
}

void Journal::trouble(Failure const& failure)
{
    if (!failure.was_dropped())
        trouble(failure.error, failure.detail);
}

void Journal::refuse(error_code error, std::string words)
{
    log(LogLevel::error, words);
    trouble(error, std::move(words));
}

Diagnostics Journal::diagnostics() const
{
    Diagnostics result;
    result.store = store_;
    std::lock_guard const lock(mutex_);
    result.last_error = error_;
    result.last_detail = detail_;
    if (error_)
        result.age = runtime_->now() - when_;
    return result;
}

} // namespace tenure::engine
