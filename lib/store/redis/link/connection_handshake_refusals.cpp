// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Handshake: what a refusal says to people.
#include "connection_handshake.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

Handshake::Progress Handshake::refuse(errc error, bool fatal, std::string detail)
{
    refusal_ = Refusal{make_error_code(error), std::move(detail), fatal};
    return Progress::refused;
}

Handshake::Progress Handshake::refuse(resp::Value const& value)
{
    if (!value.is_error())
        return refuse(errc::protocol_error, false, "an answer to the login that is none");
    auto const meaning = meaning_of(value.as_string());
    auto const words = " (" + harmless(value.as_string()) + "): ";
    switch (meaning) {
    case ErrorMeaning::login_wrong:
    case ErrorMeaning::login_missing:
    case ErrorMeaning::no_password_needed:
        return refuse_login(meaning, words);
    case ErrorMeaning::permission_missing:
        return refuse_permission(words);
    case ErrorMeaning::host_denied:
        return refuse(
            errc::permission_denied, true,
            "the server takes no connections from here" + words +
                "set a password, or protected-mode no, on the server");
    case ErrorMeaning::temporary:
        break;
    case ErrorMeaning::arguments_unknown:
        if (step_ == Step::auth)
            return refuse(
                errc::authentication_failed, true,
                "the server knows no users" + words + "configure a password alone, or use Redis 6 or newer");
        [[fallthrough]];
    default:
        if (step_ == Step::select)
            return refuse(
                errc::wrong_database, true,
                "the server refused database " + std::to_string(database_) + words +
                    "use one that it has, 0 in a cluster");
        if (meaning == ErrorMeaning::command_unavailable)
            return refuse_command(words);
        break;
    }
    return refuse(errc::store_refused, false, "the server refused the login for now: " + harmless(value.as_string()));
}

std::string Handshake::user() const
{
    return username_.empty() ? std::string("the default user") : "user '" + username_ + "'";
}

Handshake::Progress Handshake::refuse_login(ErrorMeaning meaning, std::string const& words)
{
    // a new password may reach the server before it reaches the program
    bool const for_good = credentials_ == nullptr || !was_accepted_;
    if (meaning == ErrorMeaning::login_wrong)
        return refuse(
            errc::authentication_failed, for_good,
            "the server refused the login of " + user() + words + "correct user or password");
    if (meaning == ErrorMeaning::no_password_needed)
        return refuse(
            errc::authentication_failed, true,
            "a password is configured, and the server has none" + words + "remove it, or is this another server?");
    if (password_.empty())
        return refuse(
            errc::authentication_failed, true,
            "the server asks for a password and none is configured: configure user and password");
    return refuse(
        errc::authentication_failed, true,
        "the server asks for a login after that of " + user() + words + "correct user or password, there and here");
}

Handshake::Progress Handshake::refuse_permission(std::string const& words)
{
    switch (step_) {
    case Step::select:
        return refuse(
            errc::permission_denied, true,
            user() + " may not SELECT database " + std::to_string(database_) + words +
                "grant +select, or use database 0");
    case Step::role:
        return refuse(
            errc::permission_denied, true,
            user() + " may not ask whether the server is the master" + words + "grant +role");
    case Step::info:
        return refuse(
            errc::permission_denied, true,
            user() + " may not ask for the server's run id" + words +
                "grant +info, or switch delay_after_failover off");
    case Step::wait:
        return refuse(
            errc::permission_denied, true,
            user() + " may not WAIT, which replicas=" + std::to_string(needs_.acknowledged_by) + " needs" + words +
                "grant +wait");
    default:
        return refuse(errc::permission_denied, true, user() + " may not log in" + words + "grant +@connection");
    }
}

Handshake::Progress Handshake::refuse_command(std::string const& words)
{
    switch (step_) {
    case Step::auth:
        return refuse(
            errc::authentication_failed, true,
            "a password is configured, and the server or proxy has no AUTH" + words +
                "remove it, or let the proxy pass AUTH");
    case Step::role:
        return refuse(
            errc::wrong_server, true,
            "the server or proxy does not tell whether it is the master" + words +
                "let the proxy pass ROLE, or connect to the servers themselves");
    case Step::info:
        return refuse(
            errc::wrong_server, true,
            "the server or proxy does not tell the server's run id" + words +
                "let the proxy pass INFO, or switch delay_after_failover off");
    case Step::wait:
        return refuse(
            errc::wrong_server, true,
            "this server or proxy refuses WAIT, which replicas=" + std::to_string(needs_.acknowledged_by) + " needs" +
                words + "let the proxy pass WAIT, or switch replicas off");
    default:
        return refuse(
            errc::wrong_server, true,
            "this server or proxy refuses scripts, without which no lease can be released" + words +
                "connect to Redis 6 or newer, or Valkey, itself, or let the proxy pass EVAL and EVALSHA");
    }
}

std::string Handshake::harmless(std::string_view text, std::size_t most) const
{
    constexpr std::string_view mask = "***";
    // the error for an unknown command repeats its arguments, which include the password at login
    constexpr std::string_view arguments = ", with args";
    std::string result;
    // a password that crosses the end of the limit is still found and hidden completely
    while (!text.empty() && result.size() < most) {
        if (!password_.empty() && text.starts_with(password_)) {
            result += mask;
            text.remove_prefix(password_.size());
        } else if (text.starts_with(arguments)) {
            break;
        } else {
            result += text.front();
            text.remove_prefix(1);
        }
    }
    result.resize(std::min(result.size(), most));
    std::ranges::replace_if(result, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return result;
}

} // namespace tenure::redis
