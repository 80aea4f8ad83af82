// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace tenure
{

/** The executor of a store's internal work. */
enum class RunsOn {
    /// the executor of its user
    user_executor,
    /// a thread of the store
    own_thread
};

/** Makes the runtime of a program: the user's executor, CLOCK_BOOTTIME, the system's random numbers.
 *
 *  | @param log  called on the strand, so it must be quick; empty: no log
 *  @param log_level  lines below it are not made */
[[nodiscard]] std::shared_ptr<Runtime> make_asio_runtime(
    asio::any_io_executor user_executor, LogSink log, LogLevel log_level = LogLevel::trace,
    RunsOn runs_on = RunsOn::user_executor);

} // namespace tenure
