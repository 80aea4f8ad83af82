// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/execution_context.hpp>

#include <concepts>

namespace tenure::detail
{

/** An execution context with an executor, such as `asio::io_context` and `asio::thread_pool`. */
template <class Context>
concept ExecutionContext = std::convertible_to<Context&, boost::asio::execution_context&> &&
                           requires(Context& context) { context.get_executor(); };

} // namespace tenure::detail
