// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/time_limit.hpp"

namespace tenure::tool
{

TimeLimit::TimeLimit(boost::asio::any_io_executor const& executor, std::chrono::milliseconds limit)
    : signal_(std::make_shared<boost::asio::cancellation_signal>())
    , timer_(executor, limit)
{
    timer_.async_wait([signal = signal_](boost::system::error_code const& error) {
        if (!error)
            signal->emit(boost::asio::cancellation_type::terminal);
    });
}

} // namespace tenure::tool
