// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>

/** Inside the library the names of the seam and of Asio need no qualification. Programs see them as
 *  `tenure::backend::...` and `boost::asio::...` only. */
namespace tenure
{

namespace backend
{
}
using namespace backend; // NOLINT(google-build-using-namespace): the reason stands above

namespace asio = boost::asio;

} // namespace tenure
