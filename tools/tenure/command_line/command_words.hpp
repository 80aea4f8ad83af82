// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

namespace tenure::tool
{

/** The invocation with the words of the command that is to run, which may begin without `--` in front of it.
 *  @param options  as they were parsed
 *  @throws std::invalid_argument if there is no command, or an option that does not exist in front of it */
[[nodiscard]] Invocation with_command(Invocation const& invocation, CLI::App const& options);

} // namespace tenure::tool
