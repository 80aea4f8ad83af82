// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/error_details.hpp"
#include "runtime/fork_guard.hpp"
#include "runtime/names.hpp"
#include "runtime/repeated_causes.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/log.hpp>
#include <tenure/store.hpp>

#include <boost/system/error_code.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace tenure::engine
{

/** Writes log lines that name the store, and keeps the last error for `Store::diagnostics`. A cause that repeats is
 *  logged at the times of RepeatSchedule. On the strand, unless stated otherwise. */
class StoreLog
{
public:
    StoreLog(std::shared_ptr<Runtime> runtime, std::string store);

    void log(LogLevel level, std::string_view line) const;

    /** Records an error of the store, in the store's words. Any thread. */
    void record_error(error_code error, std::string detail);
    /** As above, unless the request was dropped, which says nothing about the store. Any thread. */
    void record_error(Failure const& failure);

    /** The request that failed. */
    enum class Asked {
        /// by the library, which repeats it
        by_itself,
        /// by a caller, who is told of the failure if repeating it does not help in time
        by_caller
    };
    /** Records the failure. Logs it while requests keep failing, because the store is unavailable or refuses all
     *  requests. */
    void failed(Failure const& failure, Asked asked);
    /** The store has answered a request: it is available again, unless a request failed just before. */
    void answered()
    {
        if (failures_.lasts())
            note_answer();
    }
    /** The store refuses a View to read these keys. */
    void view_refused(std::string const& keys, Failure const& failure);
    /** Code of the user or of the library has thrown on the store's thread. */
    void thread_failed(std::string const& what);

    /** Logs and records why a call was refused before any request. Any thread. Complete the call while the result
     *  exists. */
    [[nodiscard]] FailsWith refuse(error_code error, std::string words);

    [[nodiscard]] std::string const& store() const noexcept { return store_; }
    /** The words of a failure for the caller, which name the store first. */
    [[nodiscard]] std::string of_store(std::string const& words) const;
    [[nodiscard]] Diagnostics diagnostics() const;

    /** The store is closed: what failed until then is of no interest. */
    void close() noexcept { closed_ = true; }

private:
    void note_answer();

    std::shared_ptr<Runtime> runtime_;
    std::string store_;
    bool closed_ = false;
    /// failed requests by their error
    RepeatedCauses failures_{RepeatSchedule::Ends::when_told};
    Instant last_failure_{};
    /// first answer after the last failure; max: none
    Instant answered_at_ = Instant::max();
    RepeatedCauses view_refusals_;
    RepeatedCauses thread_failures_;
    /// shared with posted work, which may outlive this object
    std::shared_ptr<RepeatedCauses> refusals_ = std::make_shared<RepeatedCauses>();
    ForkMark fork_mark_;
    /// guards the rest
    mutable std::mutex mutex_;
    error_code error_;
    std::string detail_;
    Instant when_{};
};

} // namespace tenure::engine
