// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/key_range.hpp>

namespace tenure::redis
{

/** Takes this store's name out of the line of the range. Best effort: the answer is not awaited, and no first
 * connection is made for it. */
void leave_line(NodePtr const& node, KeyRangePtr range);

} // namespace tenure::redis
