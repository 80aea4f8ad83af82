// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <string_view>

namespace tenure
{

enum class LogLevel { trace, debug, info, warning, error };

[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;

/** Receives every log line of a store; called on the store's strand: keep it short. What it throws is ignored.
 *
 *  Lines say what happened, to which key on which server, and what to do. They never hold passwords, URLs with
 * passwords or the random part of an owner.
 */
using LogSink = std::function<void(LogLevel, std::string_view)>;

/** The sink that a store uses when it is given none: spdlog's logger "tenure" if the program registered one, else
 *  spdlog's default logger. */
[[nodiscard]] LogSink default_log_sink();

/** A sink that drops everything. */
[[nodiscard]] LogSink silent_log_sink();

} // namespace tenure
