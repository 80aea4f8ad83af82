// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace CLI
{
class App;
}

namespace tenure::tool
{

/** What the help of a command says beside its options. */
struct CommandHelp {
    /// its first line
    char const* usage;
    /// a paragraph on what the command does
    char const* text;
    /// examples and exit codes
    char const* footer;
};

void describe_command(CLI::App& command, CommandHelp const& help);

} // namespace tenure::tool
