// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/report.hpp"

#include <boost/asio/post.hpp>

#include <unistd.h>

#include <mutex>
#include <utility>

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

struct LogRelay::State {
    std::mutex mutex;
    /// null once the relay has gone; the executor must not be used from then on
    boost::asio::any_io_executor executor;
    /// touched on the executor's thread only
    Handler handler;
};

LogRelay::LogRelay(boost::asio::any_io_executor executor, Handler handler)
    : state_(std::make_shared<State>())
{
    state_->executor = std::move(executor);
    state_->handler = std::move(handler);
}

LogRelay::~LogRelay()
{
    auto const lock = std::lock_guard(state_->mutex);
    state_->executor = {};
    state_->handler = nullptr;
}

LogSink LogRelay::sink(Report const& report) const
{
    return [state = state_, report](LogLevel level, std::string_view text) {
        if (!report.writes(level))
            return;
        auto lock = std::unique_lock(state->mutex);
        if (!state->executor) {
            lock.unlock();
            report(level, text);
            return;
        }
        boost::asio::post(state->executor, [state, level, line = std::string(text)]() mutable {
            if (state->handler)
                state->handler(level, std::move(line));
        });
    };
}

} // namespace tenure::tool
