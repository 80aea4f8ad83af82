// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace CLI
{
class App;
}

namespace tenure::tool
{

/** A script that teaches a shell to complete the program's commands, options and their values, and the command that
 * `run` runs. Made of the options that CLI11 knows. */
[[nodiscard]] std::string bash_completion(CLI::App const& program);
[[nodiscard]] std::string zsh_completion(CLI::App const& program);
[[nodiscard]] std::string fish_completion(CLI::App const& program);

} // namespace tenure::tool
