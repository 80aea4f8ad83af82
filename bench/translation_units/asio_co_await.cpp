// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

boost::asio::awaitable<void> work(boost::asio::steady_timer& timer)
{
    co_await timer.async_wait(boost::asio::deferred);
}
