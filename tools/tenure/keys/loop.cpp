// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/loop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

int run_to_end(asio::io_context& loop, asio::awaitable<int> operation)
{
    bool completed = false;
    std::exception_ptr failure;
    int result = 0;
    asio::co_spawn(loop, std::move(operation), [&](std::exception_ptr thrown, int value) {
        completed = true;
        failure = thrown;
        result = value;
        loop.stop();
    });
    loop.run();
    if (failure)
        std::rethrow_exception(failure);
    if (!completed)
        throw std::logic_error("the event loop ended before its operation");
    return result;
}

asio::awaitable<void> pause_for(std::chrono::milliseconds duration)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, duration);
    co_await timer.async_wait(as_result);
}

TimeLimit::TimeLimit(asio::any_io_executor const& executor, std::chrono::milliseconds limit)
    : signal_(std::make_shared<asio::cancellation_signal>())
    , timer_(executor, limit)
{
    timer_.async_wait([signal = signal_](boost::system::error_code const& error) {
        if (!error)
            signal->emit(asio::cancellation_type::terminal);
    });
}

} // namespace tenure::tool
