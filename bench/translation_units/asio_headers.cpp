// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a program with Asio coroutines includes anyway: the least that tenure.hpp can be held against.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
