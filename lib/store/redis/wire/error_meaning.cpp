// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Meanings of the error replies of servers and proxies.
#include "error_meaning.hpp"

#include <algorithm>
#include <array>

namespace tenure::redis
{

namespace
{

using Meaning = ErrorMeaning;

struct MeaningRule {
    std::string_view text;
    Meaning meaning;
};

/// the first word of an error
constexpr std::array meanings_of_codes{
    MeaningRule{"LOADING", Meaning::temporary},
    MeaningRule{"BUSY", Meaning::temporary},
    MeaningRule{"MASTERDOWN", Meaning::temporary},
    MeaningRule{"TRYAGAIN", Meaning::temporary},
    MeaningRule{"CLUSTERDOWN", Meaning::temporary},
    MeaningRule{"MISCONF", Meaning::temporary},
    MeaningRule{"OOM", Meaning::temporary},
    MeaningRule{"READONLY", Meaning::temporary},
    MeaningRule{"NOREPLICAS", Meaning::temporary},
    MeaningRule{"UNKILLABLE", Meaning::temporary},
    MeaningRule{"NOPERM", Meaning::permission_missing},
    MeaningRule{"NOAUTH", Meaning::login_missing},
    MeaningRule{"WRONGPASS", Meaning::login_wrong},
    MeaningRule{"DENIED", Meaning::host_denied},
    MeaningRule{"NOPROTO", Meaning::arguments_unknown},
    MeaningRule{"NOSCRIPT", Meaning::script_unknown},
    MeaningRule{"MOVED", Meaning::other},
    MeaningRule{"ASK", Meaning::other},
    MeaningRule{"CROSSSLOT", Meaning::other},
    MeaningRule{"WRONGTYPE", Meaning::other},
};

/// parts of a text in lower case, of which the first that occurs decides
constexpr std::array meanings_of_phrases{
    MeaningRule{"max number of clients", Meaning::temporary},
    MeaningRule{"authentication required", Meaning::login_missing},
    MeaningRule{"not authenticated", Meaning::login_missing},
    // Redis 2.6 before AUTH
    MeaningRule{"operation not permitted", Meaning::login_missing},
    MeaningRule{"no password is set", Meaning::no_password_needed},
    MeaningRule{"no password set", Meaning::no_password_needed},
    MeaningRule{"without any password", Meaning::no_password_needed},
    MeaningRule{"invalid password", Meaning::login_wrong},
    MeaningRule{"invalid username-password", Meaning::login_wrong},
    MeaningRule{"incorrect password", Meaning::login_wrong},
    MeaningRule{"wrong password", Meaning::login_wrong},
    MeaningRule{"authentication fail", Meaning::login_wrong},
    MeaningRule{"no permission", Meaning::permission_missing},
    MeaningRule{"permission den", Meaning::permission_missing},
    MeaningRule{"user executing the script can't", Meaning::permission_missing},
    MeaningRule{"wrong number of arg", Meaning::arguments_unknown},
    MeaningRule{"argument wrong", Meaning::arguments_unknown},
    MeaningRule{"invalid request", Meaning::arguments_unknown},
    MeaningRule{"syntax error", Meaning::arguments_unknown},
    MeaningRule{"protocol version", Meaning::arguments_unknown},
    MeaningRule{"unsupported protocol", Meaning::arguments_unknown},
    // some proxies run scripts with keys only
    MeaningRule{"without any input keys", Meaning::arguments_unknown},
    MeaningRule{"number of keys", Meaning::arguments_unknown},
    // errors that hold for a while only
    MeaningRule{" when ", Meaning::temporary},
    MeaningRule{" while ", Meaning::temporary},
    MeaningRule{" during ", Meaning::temporary},
    MeaningRule{" until ", Meaning::temporary},
    MeaningRule{"temporar", Meaning::temporary},
    MeaningRule{"try again", Meaning::temporary},
    MeaningRule{"no matching script", Meaning::script_unknown},
    MeaningRule{"unknown command", Meaning::command_unavailable},
    MeaningRule{"unknown redis command", Meaning::command_unavailable},
    MeaningRule{"unknown subcommand", Meaning::command_unavailable},
    MeaningRule{"unknown or unsupported", Meaning::command_unavailable},
    MeaningRule{"no such command", Meaning::command_unavailable},
    MeaningRule{"command not found", Meaning::command_unavailable},
    MeaningRule{"invalid command", Meaning::command_unavailable},
    MeaningRule{"unrecognized command", Meaning::command_unavailable},
    MeaningRule{"unsupported", Meaning::command_unavailable},
    MeaningRule{"not support", Meaning::command_unavailable},
    MeaningRule{"n't support", Meaning::command_unavailable},
    MeaningRule{"not allow", Meaning::command_unavailable},
    MeaningRule{"disallow", Meaning::command_unavailable},
    MeaningRule{"not permitted", Meaning::command_unavailable},
    MeaningRule{"not implemented", Meaning::command_unavailable},
    MeaningRule{"not enabled", Meaning::command_unavailable},
    MeaningRule{"disabled", Meaning::command_unavailable},
    MeaningRule{"forbid", Meaning::command_unavailable},
    MeaningRule{"bad lua script", Meaning::script_text_refused},
    MeaningRule{"undeclared key", Meaning::command_unavailable},
    MeaningRule{"command is not available", Meaning::command_unavailable},
};

constexpr char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool contains_in_any_case(std::string_view text, std::string_view lower_part) noexcept
{
    auto const same = [](char a, char b) { return lower(a) == b; };
    return !std::ranges::search(text, lower_part, same).empty();
}

bool begins_in_any_case(std::string_view text, std::string_view lower_part) noexcept
{
    return text.size() >= lower_part.size() && contains_in_any_case(text.substr(0, lower_part.size()), lower_part);
}

/** True if a command that a script called was refused. */
bool is_of_script(std::string_view error) noexcept
{
    return contains_in_any_case(error, "user_script") || contains_in_any_case(error, "error running script") ||
           contains_in_any_case(error, " script: ") || contains_in_any_case(error, "from script") ||
           contains_in_any_case(error, "from lua script");
}

} // namespace

ErrorMeaning meaning_of(std::string_view error) noexcept
{
    // the error for an unknown command repeats its arguments
    error = error.substr(0, error.find(", with args"));
    if (begins_in_any_case(error, "err "))
        error.remove_prefix(4);
    auto const code = error.substr(0, error.find(' '));
    if (auto const* const rule = std::ranges::find(meanings_of_codes, code, &MeaningRule::text);
        rule != meanings_of_codes.end())
        return rule->meaning;
    auto const* const rule = std::ranges::find_if(
        meanings_of_phrases, [&](MeaningRule const& each) { return contains_in_any_case(error, each.text); });
    return rule != meanings_of_phrases.end() ? rule->meaning : Meaning::other;
}

bool is_command_unavailable(std::string_view error) noexcept
{
    return !is_of_script(error) && meaning_of(error) == ErrorMeaning::command_unavailable;
}

bool refuses_command_here(std::string_view error) noexcept
{
    auto const meaning = meaning_of(error);
    bool const is_other = meaning == ErrorMeaning::other && error.starts_with("ERR ") &&
                          !contains_in_any_case(error, "not an integer") && !contains_in_any_case(error, "overflow");
    return !is_of_script(error) &&
           (meaning == ErrorMeaning::command_unavailable || meaning == ErrorMeaning::arguments_unknown || is_other);
}

bool may_concern_some_keys(std::string_view error) noexcept
{
    if (error.starts_with("TRYAGAIN"))
        return true;
    bool const is_of_command = contains_in_any_case(error, "run the '");
    return meaning_of(error) == ErrorMeaning::permission_missing && !is_of_script(error) && !is_of_command;
}

bool may_come_from_publishing(std::string_view error) noexcept
{
    auto const meaning = meaning_of(error);
    bool const may_be_any = meaning == ErrorMeaning::other || meaning == ErrorMeaning::command_unavailable ||
                            meaning == ErrorMeaning::arguments_unknown;
    return may_be_any && !is_command_unavailable(error) && is_of_script(error) &&
           contains_in_any_case(error, "publish");
}

} // namespace tenure::redis
