// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/texts.hpp"

#include "command_line/option_list.hpp"
#include "output/text_layout.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace tenure::tool
{

namespace
{

constexpr auto zsh_head = R"(#compdef tenure
# zsh completion of tenure, made by `tenure completion zsh`
_tenure() {
    local curcontext="$curcontext" state line
    _arguments -C \
)";

constexpr auto zsh_tail = R"(        esac
        ;;
    esac
}
if [[ $funcstack[1] == _tenure ]]; then
    _tenure "$@"
else
    compdef _tenure tenure
fi
)";

/** Safe between single quotes, and inside a specification of _arguments. */
std::string zsh_escaped(std::string_view text)
{
    std::string result;
    for (auto const character : text) {
        if (character == '\'') {
            result += "'\\''";
            continue;
        }
        if (std::string_view(":[]\\").find(character) != std::string_view::npos)
            result += '\\';
        result += character;
    }
    return result;
}

/** The text after the name of an option: `[text]:URL:` or `[text]:(a b):`. */
std::string zsh_value(OptionHelp const& option)
{
    auto text = "[" + zsh_escaped(option.brief()) + "]";
    if (option.value.empty())
        return text;
    auto const choices = option.choices();
    if (choices.empty())
        return text + ":" + zsh_escaped(option.value) + ":";
    return text + ":value:(" + joined(choices, " ") + ")";
}

std::string zsh_specification(OptionHelp const& option)
{
    if (option.names.empty()) {
        auto argument = zsh_value(option);
        return "'1" + argument.substr(argument.find(']') + 1) + "'";
    }
    auto const names = joined(option.names, " ");
    // help and version stand alone
    bool const alone = option.names.back() == "--help" || option.names.back() == "--version";
    auto const excluded = option.repeats ? "'*'" : "'(" + (alone ? std::string("- *") : names) + ")'";
    return excluded + (option.names.size() == 1 ? names : "{" + joined(option.names, ",") + "}") + "'" +
           zsh_value(option) + "'";
}

std::string zsh_options(CLI::App const& command, std::string const& indent)
{
    std::string result;
    for (auto const& option : options_of(command))
        result += indent + zsh_specification(option) + " \\\n";
    return result;
}

std::string zsh_case(CLI::App const& command)
{
    auto const indent = std::string(16, ' ');
    auto const rest = command.get_prefix_command()
                          ? indent + "'(-)" + std::to_string(count_arguments(command) + 1) +
                                ":command:_command_names -e' \\\n" + indent + "'*::arguments:_normal'\n"
                          : indent + "&& return\n";
    return "        " + command.get_name() + ")\n            _arguments -S \\\n" + zsh_options(command, indent) + rest +
           "            ;;\n";
}

} // namespace

std::string zsh_completion(CLI::App const& program)
{
    std::string commands;
    std::string cases;
    for (auto const* const command : commands_of(program)) {
        commands += "            '" + command->get_name() + ":" + zsh_escaped(command->get_description()) + "'\n";
        cases += zsh_case(*command);
    }
    return zsh_head + zsh_options(program, "        ") +
           "        '1:command:->command' \\\n        '*::argument:->argument' && return\n    case $state in\n"
           "    command)\n        local -a commands=(\n" +
           commands +
           "        )\n        _describe -t commands 'command of tenure' commands\n        ;;\n"
           "    argument)\n        case $words[1] in\n" +
           cases + zsh_tail;
}

} // namespace tenure::tool
