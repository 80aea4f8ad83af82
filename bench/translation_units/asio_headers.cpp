// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The headers that a program with Asio coroutines includes anyway: the baseline for tenure.hpp.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
