// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/execution_context.hpp>

#include <concepts>

namespace tenure::detail
{

/** `asio::io_context`, `asio::thread_pool` and their like, which have an executor. */
template <class Context>
concept ExecutionContext = std::convertible_to<Context&, boost::asio::execution_context&> &&
                           requires(Context& context) { context.get_executor(); };

} // namespace tenure::detail
