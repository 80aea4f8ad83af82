// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <chrono>
#include <functional>
#include <string_view>

namespace tenure
{

/** How urgent a log line is. */
enum class LogLevel { trace, debug, info, warning, error };

/** The name of the enumerator. */
[[nodiscard]] TENURE_API std::string_view to_string(LogLevel level) noexcept;

/** Receives the log lines of a store, from `StoreOptions::log_level` up.
 *
 *  A line names the event, the key, the server and the remedy. They never hold passwords, URLs with
 * passwords or the random part of an owner.
 *
 *  @par Thread safety  Called by one thread of the library, one line at a time. All stores of a process share this
 * thread, which the first line starts. A sink may block: this delays other lines, and never a renewal. The queue of the
 * thread holds up to 1,000 lines and events. Further lines are dropped, and the sink then gets one line "N messages
 * dropped". Exceptions of a sink are ignored.
 *  @par Object lifetime  A sink may get lines after their store was destroyed. A sink owns the objects that it uses, or
 *    they live until `flush_log` has returned true after the end of the store. The end of the program waits up to 1 s
 *    for pending lines. A fork waits up to 100 ms for a sink that runs, so that the child inherits none of its locks;
 * the child does not inherit pending lines.
 */
using LogSink = std::function<void(LogLevel, std::string_view)>;

/** The sink of a store without a configured one: spdlog's logger "tenure" if the program has registered it, else
 * standard error. */
[[nodiscard]] TENURE_API LogSink default_log_sink();

/** A sink that drops everything: the store then creates no lines. */
[[nodiscard]] TENURE_API LogSink silent_log_sink();

/** Blocks until the lines that were logged before this call have been handed to their sinks. For the end of a program
 * or a test.
 *
 *  @param limit  how long to wait at most
 *  @return false if the limit has passed, or at once if a sink calls it
 *  @par Thread safety  Safe from any thread. */
[[nodiscard]] TENURE_API bool flush_log(std::chrono::milliseconds limit);

} // namespace tenure
