// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/system/error_code.hpp>

#include <string>

namespace tenure::net
{

/** The message of a system error. If a limit of this process or machine causes the error, it names the limit. */
[[nodiscard]] std::string explain_system_error(boost::system::error_code error);

/** The error if this process cannot open another descriptor now; clear if it can. Resolvers report such a failure as
 * one of the name service. */
[[nodiscard]] boost::system::error_code lack_of_descriptors() noexcept;

} // namespace tenure::net
