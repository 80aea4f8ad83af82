// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "immortal.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/system_executor.hpp>

namespace tenure
{

/** Executor of objects without a store: an empty lease, a token without a lease. Handlers without an associated
 *  executor run in Asio's default. */
[[nodiscard]] inline boost::asio::any_io_executor const& no_executor()
{
    static Immortal<boost::asio::any_io_executor> const executor{boost::asio::system_executor()};
    return *executor;
}

} // namespace tenure
