// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

#include <string>
#include <vector>

namespace tenure::tool
{

/** The description of a command without its options. Its help, the man page and the completions of shells are made of
 * this and of the options that CLI11 knows, so none of them can miss one. */
struct CommandHelp {
    struct Entry {
        std::string term;
        std::string meaning;
    };

    /// how it is called
    std::string usage;
    /// description in paragraphs with an empty line in between; they are filled to the available width
    std::string text;
    /// command lines, and what they do
    std::vector<Entry> examples = {};
    std::vector<Entry> exit_codes = {};
    /// variables, and what they do
    std::vector<Entry> environment = {};
};

/** Makes this the help of the command. */
void describe_command(CLI::App& command, CommandHelp help);

/** The description from `describe_command`; null for an internal command. */
[[nodiscard]] CommandHelp const* help_of(CLI::App const& command);

} // namespace tenure::tool
