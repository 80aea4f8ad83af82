// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/log_relay.hpp"

#include <boost/asio/post.hpp>

#include <mutex>
#include <string_view>
#include <utility>

namespace tenure::tool
{

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
