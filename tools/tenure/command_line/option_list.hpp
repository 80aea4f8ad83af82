// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tenure::tool
{

/// the heading of the options that say which store, as which worker, and how much is said
inline constexpr auto common_options_group = "Common options";

/** One option or argument of a command, as CLI11 knows it. */
struct OptionHelp {
    /// `-s` and `--store`, the short one first; empty for an argument
    std::vector<std::string> names;
    /// placeholder of its value, e.g. `URL`, or `auto|always|never`; empty for a flag
    std::string value;
    /// description, with its default and the variable that sets it
    std::string text;
    /// the heading that it stands under
    std::string group;
    /// it may be given several times
    bool repeats = false;

    /** `-s, --store URL` */
    [[nodiscard]] std::string syntax() const;
    /** The words that its value can be, if these are all. */
    [[nodiscard]] std::vector<std::string> choices() const;
    /** The first part of the text, for one short line. */
    [[nodiscard]] std::string brief() const;
};

/** How many words of its own a command has in front of the command that it runs. */
[[nodiscard]] std::size_t count_arguments(CLI::App const& command);

/** The options of a command that are for people, in the order of their definition. */
[[nodiscard]] std::vector<OptionHelp> options_of(CLI::App const& command);

/** The commands of the program that are for people, in the order of their definition. */
[[nodiscard]] std::vector<CLI::App const*> commands_of(CLI::App const& program);

} // namespace tenure::tool
