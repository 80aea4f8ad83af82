// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/log.hpp>

namespace tenure
{

/** A sink that only queues a line, which the process's log thread then hands to `sink`: what calls it is not delayed by
 * a sink that blocks. Without room in the queue the line is dropped and counted. Thread-safe.
 *
 *  @param sink  called by the log thread alone; what it throws is ignored */
[[nodiscard]] LogSink queued(LogSink sink);

/** True for `silent_log_sink()`. */
[[nodiscard]] bool is_silent(LogSink const& sink) noexcept;

} // namespace tenure
