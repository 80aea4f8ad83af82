// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/connection.hpp"
#include "store/redis/wire/command.hpp"

#include <tenure/clock.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::redis
{

class CommandChannel;

/** The SHA-1 of `text` in 40 lower-case hexadecimal digits: the name under which servers cache a script. It protects
 * nothing.
 *  @throws std::runtime_error if OpenSSL is configured without SHA-1 */
[[nodiscard]] std::string sha1_hex(std::string_view text);

/** A Lua script and the name under which servers cache it. */
struct Script {
    explicit Script(std::string source);

    std::string text;
    std::string sha;
    /// what a call for one key begins with: by its text, and by its name
    resp::EncodedArguments one_key_by_text;
    resp::EncodedArguments one_key_by_name;
};

/** One call of a script. Keys and values are kept apart because the keys of a range are encoded once and shared. */
struct ScriptCall {
    /// lives for ever: see scripts.hpp
    Script const* script = nullptr;
    /// the number of keys, then the keys
    std::shared_ptr<resp::EncodedArguments const> keys;
    resp::EncodedArguments values;
    Deadline not_after{};
    /// the largest reply expected, where that is more than the connection's limit
    std::size_t reply_bytes = 0;
    /// the last value is the run id of the process that is to run the script
    bool with_run_id = false;
};

/** Runs the script by its name, or by its text. */
void run_script_once(CommandChannel& channel, ScriptCall const& call, bool by_text, OutcomeHandler handler);

/** The server does not know the script by its name: nothing has run. */
[[nodiscard]] bool is_unknown_script(Outcome const& outcome);

/** Runs the script by its name and, where the server does not know it (NOSCRIPT: nothing has run), by its text. */
void run_script(std::shared_ptr<CommandChannel> const& channel, ScriptCall call, OutcomeHandler handler);

} // namespace tenure::redis
