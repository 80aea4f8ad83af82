// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/fork_guard.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/log.hpp>
#include <tenure/store.hpp>

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace tenure::engine
{

/** Writes log lines that name the store, and keeps the last error for `Store::diagnostics`. */
class StoreLog
{
public:
    StoreLog(std::shared_ptr<Runtime> runtime, std::string store);

    void log(LogLevel level, std::string_view line) const;

    /** Records an error of the store, in the store's words. */
    void record_error(error_code error, std::string detail);
    /** As above, unless the request was dropped, which says nothing about the store. */
    void record_error(Failure const& failure);

    /** Logs and records why a call was refused before any request. Any thread. */
    void refuse(error_code error, std::string words);

    [[nodiscard]] std::string const& store() const noexcept { return store_; }
    [[nodiscard]] Diagnostics diagnostics() const;

private:
    std::shared_ptr<Runtime> runtime_;
    std::string store_;
    std::uint64_t fork_generation_ = fork_generation();
    /// guards the rest
    mutable std::mutex mutex_;
    error_code error_;
    std::string detail_;
    Instant when_{};
};

} // namespace tenure::engine
