// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/held_keys.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** The environment for a command under keys that are held: this program's own, and what tells the command what it
 * holds. */
[[nodiscard]] std::vector<std::string> environment_for(HeldKeys const& held);

/** True if the program sets the variable for the commands that it runs: of a run inside a run, the inner one counts.
 *  @param line  `NAME=value` */
[[nodiscard]] bool tells_what_is_held(std::string_view line);

} // namespace tenure::tool
