// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <type_traits>

namespace tenure::detail
{

/** The executor for the handler: its associated one, else the fallback. The result counts as outstanding work of its
 * context. */
template <class Handler>
[[nodiscard]] auto completion_executor(Handler const& handler, boost::asio::any_io_executor const& fallback)
{
    return boost::asio::prefer(
        boost::asio::get_associated_executor(handler, fallback), boost::asio::execution::outstanding_work_t::tracked);
}

/** As `completion_executor`, but usable for I/O objects of Asio. An executor that can only call handlers
 * (`asio::any_completion_executor`) is replaced by the fallback. */
template <class Handler>
[[nodiscard]] boost::asio::any_io_executor
handler_executor(Handler const& handler, boost::asio::any_io_executor const& fallback)
{
    using Associated = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
    if constexpr (std::is_convertible_v<Associated, boost::asio::any_io_executor>)
        return completion_executor(handler, fallback);
    else
        return boost::asio::prefer(fallback, boost::asio::execution::outstanding_work_t::tracked);
}

} // namespace tenure::detail
