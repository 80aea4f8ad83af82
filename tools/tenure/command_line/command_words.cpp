// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command_words.hpp"

#include "command_line/unknown_word.hpp"

#include <CLI/CLI.hpp>

#include <stdexcept>
#include <utility>

namespace tenure::tool
{

Invocation with_command(Invocation const& invocation, CLI::App const& options)
{
    auto words = options.remaining();
    if (!words.empty() && words.front().starts_with('-'))
        refuse_first_of(words, options);
    // one that comes later is the command's own
    if (!words.empty() && invocation.has_dashes)
        words.emplace_back("--");
    words.insert(words.end(), invocation.after_dashes.begin(), invocation.after_dashes.end());
    if (words.empty())
        throw std::invalid_argument(
            "no command to run: give it after the options (tenure " + options.get_name() + " --help has examples)");
    return {invocation.inheritance, std::move(words), true};
}

} // namespace tenure::tool
