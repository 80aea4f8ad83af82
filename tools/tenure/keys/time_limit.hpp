// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace tenure::tool
{

/** Cancels the operation that is bound to its slot when the time is over, unless this object has gone before. */
class TimeLimit
{
public:
    TimeLimit(boost::asio::any_io_executor const& executor, std::chrono::milliseconds limit);

    [[nodiscard]] boost::asio::cancellation_slot slot() const noexcept { return signal_->slot(); }

private:
    /// shared: the timer's handler may already be on its way when this object goes
    std::shared_ptr<boost::asio::cancellation_signal> signal_;
    boost::asio::steady_timer timer_;
};

} // namespace tenure::tool
