// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace CLI
{
class App;
}

namespace tenure::tool
{

/** Gives a command's help its first line, a paragraph on what it does, and its examples and exit codes at the end. */
void describe_command(CLI::App& command, std::string usage, std::string text, std::string footer);

} // namespace tenure::tool
