// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <vector>

namespace CLI
{
class App;
}

namespace tenure::tool
{

/** Names the first word that a command does not know, without what may be a secret in it, and what was meant.
 *  @throws std::invalid_argument */
[[noreturn]] void refuse_first_of(std::vector<std::string> const& words, CLI::App const& command);

} // namespace tenure::tool
