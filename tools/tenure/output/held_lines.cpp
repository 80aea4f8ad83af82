// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/held_lines.hpp"

#include <boost/system/error_code.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

struct HeldLines::State {
    explicit State(Report of)
        : report(of)
    {
    }

    enum class Phase { holds, lets_through, drops };

    void take(LogLevel level, std::string_view text)
    {
        std::lock_guard const lock(mutex);
        // lines that -v asks for repeat no message
        if (phase == Phase::lets_through || level < LogLevel::warning)
            report(level, text);
        else if (phase == Phase::holds)
            lines.emplace_back(level, text);
    }

    void enter(Phase next)
    {
        std::lock_guard const lock(mutex);
        if (phase != Phase::holds)
            return;
        phase = next;
        for (auto const& [level, text] : std::exchange(lines, {}))
            if (next == Phase::lets_through)
                report(level, text);
    }

    Report report;
    /// guards the rest
    std::mutex mutex;
    Phase phase = Phase::holds;
    std::vector<std::pair<LogLevel, std::string>> lines;
};

HeldLines::HeldLines(boost::asio::any_io_executor const& executor, Report report, std::chrono::milliseconds time)
    : state_(std::make_shared<State>(report))
    , timer_(executor, time)
{
    timer_.async_wait([weak = std::weak_ptr(state_)](boost::system::error_code const& error) {
        if (auto const state = weak.lock(); state && !error)
            state->enter(State::Phase::lets_through);
    });
}

HeldLines::~HeldLines() = default;

LogSink HeldLines::sink() const
{
    return [state = state_](LogLevel level, std::string_view text) { state->take(level, text); };
}

void HeldLines::let_through()
{
    state_->enter(State::Phase::lets_through);
}

void HeldLines::drop()
{
    state_->enter(State::Phase::drops);
}

} // namespace tenure::tool
