// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "loop.hpp"

#include <boost/asio/co_spawn.hpp>

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

} // namespace tenure::tool
