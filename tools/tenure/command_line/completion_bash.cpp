// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/texts.hpp"

#include "command_line/option_list.hpp"
#include "output/text_layout.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tenure::tool
{

namespace
{

// The line is read again by blanks alone, because bash also breaks words at '=' and ':', which URLs and keys hold.
constexpr auto bash_head = R"(# bash completion of tenure, made by `tenure completion bash`
_tenure() {
    local line=${COMP_LINE:0:COMP_POINT} words last cur prev i
    local options= valued= runs=
    COMPREPLY=()
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    last=$((${#words[@]} - 1))
    ((last > 0)) || return
    cur=${words[last]} prev=${words[last - 1]}
)";

constexpr auto bash_tail = R"(    if [[ -n $runs ]]; then
        # i becomes the number of the first word of the command that is run, behind as many other words as `runs` says
        for ((i = 2; i < last; ++i)); do
            case ${words[i]} in
            --) ((++i)); break ;;
            --*=*) ;;
            -*) [[ " $valued " == *" ${words[i]} "* ]] && ((++i)) ;;
            *) ((runs-- > 0)) || break ;;
            esac
        done
        if ((i < last)) || { ((i == last && runs <= 0)) && [[ $cur != -* ]]; }; then
            if declare -F _command_offset > /dev/null; then
                COMP_WORDS=("${words[@]}") COMP_CWORD=$last
                _command_offset "$i"
            elif ((i == last)); then
                COMPREPLY=($(compgen -c -- "$cur"))
            else
                COMPREPLY=($(compgen -f -- "$cur"))
            fi
            return
        fi
    fi
    [[ " $valued " == *" $prev "* ]] && return
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
}
complete -F _tenure tenure
)";

std::string reply_with(std::vector<std::string> const& words)
{
    return "COMPREPLY=($(compgen -W '" + joined(words, " ") + "' -- \"$cur\"))";
}

/** The names of a program's or a command's options, and what else its first words can be. */
std::vector<std::string> words_of(CLI::App const& command)
{
    std::vector<std::string> words;
    for (auto const* const subcommand : commands_of(command))
        words.push_back(subcommand->get_name());
    for (auto const& option : options_of(command)) {
        auto const more = option.names.empty() ? option.choices() : option.names;
        words.insert(words.end(), more.begin(), more.end());
    }
    return words;
}

std::string case_of(CLI::App const& command)
{
    std::vector<std::string> valued;
    for (auto const& option : options_of(command))
        if (!option.value.empty())
            valued.insert(valued.end(), option.names.begin(), option.names.end());
    return "    " + command.get_name() + ")\n        options='" + joined(words_of(command), " ") +
           "'\n        valued='" + joined(valued, " ") + "'\n" +
           (command.get_prefix_command() ? "        runs=" + std::to_string(count_arguments(command)) + "\n" : "") +
           "        ;;\n";
}

/** The values of the options that have only a few. */
std::string values_of(CLI::App const& command)
{
    std::string result;
    for (auto const& option : options_of(command))
        for (auto const& name : option.names)
            if (auto const choices = option.choices(); !choices.empty())
                result += "    '" + command.get_name() + " " + name + "') " + reply_with(choices) + "; return ;;\n";
    return result;
}

} // namespace

std::string bash_completion(CLI::App const& program)
{
    std::string cases;
    std::string values;
    for (auto const* const command : commands_of(program)) {
        cases += case_of(*command);
        values += values_of(*command);
    }
    return bash_head + ("    if ((last == 1)); then\n        " + reply_with(words_of(program))) +
           "\n        return\n    fi\n    case ${words[1]} in\n" + cases + "    *) return ;;\n    esac\n" +
           "    if [[ $cur == --*=* ]]; then prev=${cur%%=*} cur=${cur#*=}; fi\n    case \"${words[1]} $prev\" in\n" +
           values + "    esac\n" + bash_tail;
}

} // namespace tenure::tool
