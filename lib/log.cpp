// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/log.hpp>

#include <spdlog/spdlog.h>

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

} // namespace

std::string_view to_string(LogLevel level) noexcept
{
    switch (level) {
    case LogLevel::trace:
        return "trace";
    case LogLevel::debug:
        return "debug";
    case LogLevel::info:
        return "info";
    case LogLevel::warning:
        return "warning";
    case LogLevel::error:
        return "error";
    }
    return "info";
}

LogSink default_log_sink()
{
    return [](LogLevel level, std::string_view line) {
        auto named = spdlog::get("tenure");
        auto* logger = named ? named.get() : spdlog::default_logger_raw();
        if (logger != nullptr)
            logger->log(to_spdlog(level), line);
    };
}

LogSink silent_log_sink()
{
    return [](LogLevel, std::string_view) {};
}

} // namespace tenure
