// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Sinks of log lines: standard error and silence.
#include "log_queue.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace tenure
{

namespace
{

spdlog::level::level_enum to_spdlog(LogLevel level) noexcept
{
    switch (level) {
    case LogLevel::trace:
        return spdlog::level::trace;
    case LogLevel::debug:
        return spdlog::level::debug;
    case LogLevel::info:
        return spdlog::level::info;
    case LogLevel::warning:
        return spdlog::level::warn;
    case LogLevel::error:
        return spdlog::level::err;
    }
    return spdlog::level::info;
}

/** Never destroyed, because the log thread uses it until the program has ended. */
spdlog::logger& standard_error()
{
    static auto* const logger = [] {
        auto made = std::make_unique<spdlog::logger>("tenure", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_level(spdlog::level::trace);
        return made.release();
    }();
    return *logger;
}

struct Silence {
    void operator()(LogLevel, std::string_view) const noexcept {}
};

} // namespace

LogSink default_log_sink()
{
    // creates spdlog's registry now, so that it is destroyed after the log thread has ended
    static_cast<void>(spdlog::get("tenure"));
    return [](LogLevel level, std::string_view line) {
        auto const named = spdlog::get("tenure");
        (named ? *named : standard_error()).log(to_spdlog(level), line);
    };
}

LogSink silent_log_sink()
{
    return Silence{};
}

bool is_silent(LogSink const& sink) noexcept
{
    return sink.target<Silence>() != nullptr;
}

} // namespace tenure
