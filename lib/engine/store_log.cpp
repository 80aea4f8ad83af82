// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// StoreLog: log lines of a store, and its last error.
#include "store_log.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::engine
{

namespace
{

/// An answer this long after the last failure ends the trouble. Earlier answers may come from another node than the
/// failures.
constexpr Clock::duration time_to_trust = std::chrono::seconds{1};

/** True if the store is unavailable, or refuses all requests for now. Other refusals concern one key or user. */
bool concerns_store(Failure const& failure) noexcept
{
    if (failure.effect == Failure::Effect::refused)
        return !failure.fatal;
    return failure.error && failure.error != errc::closed;
}

/** The cause of a failure, whatever its words are. */
std::string cause_of(error_code const& error)
{
    return std::string(error.category().name()) + std::to_string(error.value());
}

} // namespace

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

void StoreLog::failed(Failure const& failure, Asked asked)
{
    record_error(failure);
    if (failure.was_dropped() || closed_ || !concerns_store(failure) || !runtime_->logs(LogLevel::warning))
        return;
    auto const first =
        asked == Asked::by_itself ? RepeatSchedule::First::at_once : RepeatSchedule::First::after_a_second;
    last_failure_ = runtime_->now();
    answered_at_ = Instant::max();
    auto const repeated = failures_.happened(cause_of(failure.error), last_failure_, first);
    if (!repeated)
        return;
    std::string_view words = failure.detail;
    if (auto const name = store_ + ": "; words.starts_with(name))
        words.remove_prefix(name.size());
    log(LogLevel::warning, "requests fail: " + std::string(words) + how_often(*repeated));
}

void StoreLog::note_answer()
{
    auto const now = runtime_->now();
    answered_at_ = std::min(answered_at_, now);
    if (closed_ || now - last_failure_ < time_to_trust)
        return;
    if (auto const ended = failures_.end(answered_at_))
        log(LogLevel::warning, "the store answers again after " + elapsed_text(ended->lasting) +
                                   "; failed requests: " + std::to_string(ended->total));
}

void StoreLog::view_refused(std::string const& keys, Failure const& failure)
{
    if (auto const repeated = view_refusals_.happened(failure.detail, runtime_->now()))
        log(LogLevel::warning, "a View cannot read " + keys + ": " + failure.detail + how_often(*repeated));
}

void StoreLog::thread_failed(std::string const& what)
{
    if (auto const repeated = thread_failures_.happened(what, runtime_->now()))
        log(LogLevel::error, "the store's thread goes on after an exception: " + what + how_often(*repeated));
}

FailsWith StoreLog::refuse(error_code error, std::string words)
{
    // not inside the user's call: the log of a runtime may belong to the strand
    if (runtime_->logs(LogLevel::error))
        runtime_->post([runtime = runtime_, refusals = refusals_, store = store_, words] {
            if (auto const repeated = refusals->happened(words, runtime->now())) {
                auto const line = store + ": " + words + how_often(*repeated);
                runtime->log(LogLevel::error, line);
            }
        });
    record_error(error, words);
    return FailsWith(std::move(words));
}

std::string StoreLog::of_store(std::string const& words) const
{
    return words.empty() || words.starts_with(store_) ? words : store_ + ": " + words;
}

Diagnostics StoreLog::diagnostics() const
{
    Diagnostics result;
    result.store = store_;
    // a thread that does not exist in a child of fork may own the mutex
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        if (fork_mark_.forked())
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
