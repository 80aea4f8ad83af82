// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// StoreLog: log lines of a store, and its last error.
#include "store_log.hpp"

#include <utility>

namespace tenure::engine
{

StoreLog::StoreLog(std::shared_ptr<Runtime> runtime, std::string store)
    : runtime_(std::move(runtime))
    , store_(std::move(store))
{
}

void StoreLog::log(LogLevel level, std::string_view line) const
{
    if (runtime_->logs(level))
        runtime_->log(level, store_ + ": " + std::string(line));
}

void StoreLog::record_error(error_code error, std::string detail)
{
    std::lock_guard const lock(mutex_);
    error_ = error;
    detail_ = std::move(detail);
    when_ = runtime_->now();
}

void StoreLog::record_error(Failure const& failure)
{
    if (!failure.was_dropped())
        record_error(failure.error, failure.detail);
}

void StoreLog::refuse(error_code error, std::string words)
{
    // not inside the user's call: the log of a runtime may belong to the strand
    if (runtime_->logs(LogLevel::error))
        runtime_->post([runtime = runtime_, line = store_ + ": " + words] { runtime->log(LogLevel::error, line); });
    record_error(error, std::move(words));
}

Diagnostics StoreLog::diagnostics() const
{
    Diagnostics result;
    result.store = store_;
    // a thread that does not exist in a child of fork may own the mutex
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        if (fork_generation_ != fork_generation())
            return result;
        lock.lock();
    }
    result.last_error = error_;
    result.last_detail = detail_;
    if (error_)
        result.age = runtime_->now() - when_;
    return result;
}

} // namespace tenure::engine
