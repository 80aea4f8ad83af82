// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/one_shot.hpp>
#include <tenure/log.hpp>

namespace tenure
{

/** Makes a sink that only queues a line, which the process's log thread then passes to `sink`, so that a sink that
 *  blocks does not delay the caller. If the queue is full, the line is dropped and counted. Thread-safe.
 *
 *  | @param sink  called only by the log thread; its exceptions are ignored */
[[nodiscard]] LogSink queued(LogSink sink);

/** Queues a task for the log thread, behind the lines that were queued before; its exceptions are ignored. Thread-safe.
 *  @return false if the queue is full, or the program ends: the task was dropped */
[[nodiscard]] bool run_on_log_thread(OneShot<void()> task);

/** True for `silent_log_sink()`. */
[[nodiscard]] bool is_silent(LogSink const& sink) noexcept;

} // namespace tenure
