// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/leased_command.hpp"

namespace tenure::tool
{

/** Joins the group of the settings, and runs the command once for each shard that this program owns. Ends after a
 * signal. @return the exit code */
[[nodiscard]] int run_shards(RunSettings const& settings, Invocation const& invocation);

} // namespace tenure::tool
