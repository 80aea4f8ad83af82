// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <boost/asio/any_io_executor.hpp>

namespace tenure::detail
{

/** True within a handler that this executor runs on this thread, as far as the library knows: what is dispatched to it
 * there may be called at once. */
[[nodiscard]] TENURE_API bool runs_here(boost::asio::any_io_executor const& executor) noexcept;

} // namespace tenure::detail
