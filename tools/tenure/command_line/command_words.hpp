// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** The invocation with the words of the command that is to run, which may begin without `--` in front of it.
 *  @param options  as they were parsed
 *  @throws std::invalid_argument if there is no command, or an option that does not exist in front of it */
[[nodiscard]] Invocation with_command(Invocation const& invocation, CLI::App const& options);

/** The word of `known` that is nearest to `word` by inserted, missing, wrong and swapped letters. Empty if none is
 * near. */
[[nodiscard]] std::string suggestion_for(std::string_view word, std::vector<std::string> const& known);

/** Names the first word that a command does not know, without what may be a secret in it, and what was meant.
 *  @throws std::invalid_argument */
[[noreturn]] void refuse_first_of(std::vector<std::string> const& words, CLI::App const& command);

} // namespace tenure::tool
