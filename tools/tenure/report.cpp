// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "report.hpp"

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

} // namespace

Report::Report(int verbosity) noexcept
    : threshold_(threshold(verbosity))
{
}

void Report::operator()(LogLevel level, std::string_view text) const
{
    if (level < threshold_)
        return;
    write(level == LogLevel::info ? std::string_view{} : to_string(level), text);
}

void Report::say(std::string_view text) const
{
    write({}, text);
}

void Report::write(std::string_view level, std::string_view text) const
{
    auto line = std::string("tenure: ");
    if (!level.empty())
        line.append(level).append(": ");
    line.append(text).append("\n");
    // one write: lines of several processes on one terminal stay whole
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

LogSink Report::sink() const
{
    return [report = *this](LogLevel level, std::string_view text) { report(level, text); };
}

} // namespace tenure::tool
