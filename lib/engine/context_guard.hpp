// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/execution_context.hpp>

#include <memory>

namespace tenure::engine
{

class Core;

/** Sees to it that a core is abandoned when its execution context is destroyed: handlers that wait in it may own what
 * owns it, and nothing else would ever take this circle apart. */
void abandon_with(boost::asio::execution_context& context, std::weak_ptr<Core> core);

} // namespace tenure::engine
