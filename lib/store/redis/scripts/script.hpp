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

/** The SHA-1 of `text` in 40 lower-case hexadecimal digits, by which servers cache a script. It has no security role.
 *  @throws std::runtime_error if OpenSSL is configured without SHA-1 */
[[nodiscard]] std::string sha1_hex(std::string_view text);

/** A Lua script and the hash under which servers cache it. */
struct Script {
    explicit Script(std::string source);

    std::string text;
    std::string sha;
    /// first arguments of a call for one key: by text, and by hash
    resp::EncodedArguments one_key_by_text;
    resp::EncodedArguments one_key_by_name;
};

/** One call of a script. Keys are separate from values, because the keys of a range are encoded once and shared. */
struct ScriptCall {
    /// has static lifetime: see scripts.hpp
    Script const* script = nullptr;
    /// the number of keys, then the keys
    std::shared_ptr<resp::EncodedArguments const> keys;
    resp::EncodedArguments values;
    Deadline not_after{};
    /// the largest expected reply, if it is more than the connection's limit
    std::size_t reply_bytes = 0;
    /// the last value is the run id of the process that runs the script
    bool with_run_id = false;
};

/** Runs the script by hash, or by text. */
void run_script_once(CommandChannel& channel, ScriptCall const& call, bool by_text, OutcomeHandler handler);

/** True if the server does not know the hash of the script: nothing has run. */
[[nodiscard]] bool is_unknown_script(Outcome const& outcome);

/** Runs the script by hash, and if the server does not know it (NOSCRIPT: nothing has run), by text. */
void run_script(std::shared_ptr<CommandChannel> const& channel, ScriptCall call, OutcomeHandler handler);

} // namespace tenure::redis
