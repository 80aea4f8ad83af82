// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "acceptance/outages.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

/** Runs a service of each store in its outage, all at the same time, tells each to stop after a second, and checks for
 * each operation that its loop has nothing left to do shortly afterwards. Writes a line for each operation. */
void check_shutdown(std::vector<std::pair<std::string_view, Outage>> const& cells);

} // namespace tenure::test
