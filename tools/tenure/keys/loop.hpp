// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <memory>

namespace tenure::tool
{

/// the token of an operation whose error is part of the result, not an exception
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

/** The same, for an operation that the slot's signal cancels. */
[[nodiscard]] inline auto cancelled_by(boost::asio::cancellation_slot slot)
{
    return boost::asio::bind_cancellation_slot(slot, as_result);
}

/** Runs the loop until the operation has completed, and no longer: whatever a store still does in the background is not
 * waited for. @return the operation's result. @throws what the operation throws */
[[nodiscard]] int run_to_end(boost::asio::io_context& loop, boost::asio::awaitable<int> operation);

/** Waits; ends early, and without an error, when the coroutine is cancelled. */
[[nodiscard]] boost::asio::awaitable<void> pause_for(std::chrono::milliseconds duration);

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
