// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/texts.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace tenure::tool
{

namespace
{

CommandHelp completion_help()
{
    return {
        .usage = "tenure completion (bash | zsh | fish)",
        .text = "Prints a script that teaches the shell to complete this program's commands and options. A package of "
                "the program has installed these scripts already.",
        .examples =
            {{"source <(tenure completion bash)", "for this shell; the same for zsh, after compinit"},
             {"tenure completion fish | source", "for this shell"}},
        .exit_codes = {{"0", "printed"}, {"64", "the command line is wrong"}}};
}

} // namespace

Command add_completion_command(CLI::App& program)
{
    auto const shell = std::make_shared<std::string>();
    auto* const options = program.add_subcommand("completion", "print a script for the completion of a shell");
    describe_command(*options, completion_help());
    options->add_option("shell", *shell, "the shell")
        ->type_name("bash|zsh|fish")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->required();
    return {options, [&program, shell](Invocation const&) {
                auto* const script = *shell == "bash"  ? bash_completion
                                     : *shell == "zsh" ? zsh_completion
                                                       : fish_completion;
                std::cout << script(program) << std::flush;
                return static_cast<int>(success);
            }};
}

Command add_man_page_command(CLI::App& program)
{
    auto* const options = program.add_subcommand("man-page", "print tenure(1)");
    // for the build: an empty group hides it
    options->group("");
    return {options, [&program](Invocation const&) {
                std::cout << man_page(program) << std::flush;
                return static_cast<int>(success);
            }};
}

} // namespace tenure::tool
