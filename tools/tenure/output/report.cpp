// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/report.hpp"

#include <unistd.h>

#include <string>

namespace tenure::tool
{

namespace
{

LogLevel threshold(int verbosity) noexcept
{
    if (verbosity <= 0)
        return LogLevel::warning;
    if (verbosity == 1)
        return LogLevel::info;
    return verbosity == 2 ? LogLevel::debug : LogLevel::trace;
}

Style style_of(LogLevel level) noexcept
{
    if (level == LogLevel::error)
        return Style::bad;
    return level == LogLevel::warning ? Style::caution : Style::plain;
}

} // namespace

Report::Report(int verbosity, ColorChoice color) noexcept
    : threshold_(threshold(verbosity))
    , color_(uses_color(STDERR_FILENO, color))
{
}

void Report::operator()(LogLevel level, std::string_view text) const
{
    if (writes(level))
        write(level, text);
}

void Report::say(std::string_view text) const
{
    write(LogLevel::info, text);
}

void Report::write(LogLevel level, std::string_view text) const
{
    auto line = std::string("tenure: ");
    if (level != LogLevel::info)
        line.append(styled(std::string(to_string(level)) + ":", style_of(level), color_)).append(" ");
    line.append(text).append("\n");
    // one write: lines of several processes on one terminal stay whole
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

LogSink Report::sink() const
{
    return [report = *this](LogLevel level, std::string_view text) { report(level, text); };
}

} // namespace tenure::tool
