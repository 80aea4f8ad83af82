// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

#include <string>

namespace tenure::tool
{

/** tenure(1), for groff and mandoc. Made of the same definitions as the help of the commands. */
[[nodiscard]] std::string man_page(CLI::App const& program);

/** A script that teaches a shell to complete the program's commands, options and their values, and the command that
 * `run` runs. Made of the options that CLI11 knows. */
[[nodiscard]] std::string bash_completion(CLI::App const& program);
[[nodiscard]] std::string zsh_completion(CLI::App const& program);
[[nodiscard]] std::string fish_completion(CLI::App const& program);

} // namespace tenure::tool
