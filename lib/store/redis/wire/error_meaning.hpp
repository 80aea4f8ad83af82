// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string_view>

namespace tenure::redis
{

/** Meaning of an error reply for the command that it answers. Servers, and proxies in front of them, use different
 *  words for the same cause. */
enum class ErrorMeaning {
    /// anything else: later the same command may succeed
    other,
    /// the server is starting, busy, read-only or short of something: later the same command may succeed
    temporary,
    /// the command is unknown, unsupported, disabled or not allowed here, for every user
    command_unavailable,
    /// the server has the command, with other arguments or another protocol
    arguments_unknown,
    /// the user lacks a permission
    permission_missing,
    /// a login must precede the command
    login_missing,
    /// the user or the password is wrong
    login_wrong,
    /// AUTH at a server that has no password
    no_password_needed,
    /// the server takes no connections from this host
    host_denied,
    /// the server does not know a script by its name
    script_unknown,
    /// the text of a script does not pass a check: it did not run
    script_text_refused
};

/** The meaning of an error's text, which may begin with "ERR". */
[[nodiscard]] ErrorMeaning meaning_of(std::string_view error) noexcept;

/** True if the server or a proxy refused the command itself, for every key and every user, so nothing ran. False for
 *  commands that a script calls. */
[[nodiscard]] bool is_command_unavailable(std::string_view error) noexcept;

/** True if the server or a proxy refused the command itself in this place, perhaps in words that are not known. False
 *  for commands that a script calls, and for causes that concern the user, the keys or this moment. */
[[nodiscard]] bool refuses_command_here(std::string_view error) noexcept;

/** True if the server refused a call because of some of its keys, before it ran: the user may not access them, or they
 *  are at another node than the others. */
[[nodiscard]] bool may_concern_some_keys(std::string_view error) noexcept;

/** True if a script may have ended with this error because it published, after it had freed a key. */
[[nodiscard]] bool may_come_from_publishing(std::string_view error) noexcept;

} // namespace tenure::redis
