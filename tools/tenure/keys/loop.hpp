// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>

namespace tenure::tool
{

/** Runs the loop until the operation has completed, and no longer: whatever a store still does in the background is not
 * waited for. @return the operation's result. @throws what the operation throws */
[[nodiscard]] int run_to_end(boost::asio::io_context& loop, boost::asio::awaitable<int> operation);

/** Waits; ends early, and without an error, when the coroutine is cancelled. */
[[nodiscard]] boost::asio::awaitable<void> pause_for(std::chrono::milliseconds duration);

} // namespace tenure::tool
