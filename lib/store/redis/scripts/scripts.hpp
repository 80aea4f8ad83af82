// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/redis/link/connection.hpp"
#include "store/redis/wire/command.hpp"
#include "store/redis/wire/value.hpp"

#include <tenure/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
    resp::Urgency urgency = resp::Urgency::first;
};

/** Makes the command that calls the script by its name, or by its text. */
[[nodiscard]] resp::Command command_of(ScriptCall const& call, bool by_text);

/** Runs the script by its name, or by its text. */
void run_script_once(CommandChannel& channel, ScriptCall const& call, bool by_text, OutcomeHandler handler);

/** The server does not know the script by its name, or has no EVALSHA: nothing has run. */
[[nodiscard]] bool is_unknown_script(Outcome const& outcome);
[[nodiscard]] bool is_unknown_script(resp::Value const& reply);

/** Runs the script by its name, and by its text if the server does not know the name. */
void run_script(std::shared_ptr<CommandChannel> const& channel, ScriptCall call, OutcomeHandler handler);

/** Additions of the releasing scripts to their replies (see `scripts::release`); views of the reply. */
struct ReleaseNotes {
    bool publish_refused = false;
    /// the server's error text; empty: the line was not refused
    std::string_view line_refusal;
};

struct ReleaseFlags {
    /// '0', '1' or '2' for each key
    std::string_view keys;
    ReleaseNotes notes;
};
/** Reads the answer for `keys` keys; unset if it is malformed. */
[[nodiscard]] std::optional<ReleaseFlags> read_release_flags(resp::Value const& reply, std::size_t keys);

struct WithdrawnKeys {
    std::uint32_t count = 0;
    ReleaseNotes notes;
};
/** Reads the answer to a withdrawal; unset if it is malformed. */
[[nodiscard]] std::optional<WithdrawnKeys> read_withdrawn_keys(resp::Value const& reply);

} // namespace tenure::redis

// The scripts, documented in docs/integrators/redis-protocol.md. Names of lock keys are passed in KEYS, and values in
// ARGV. Names of other keys (the counter of fencing tokens, the line of waiters, the marker) are passed in ARGV,
// because the keys of a range are encoded once for all calls. In each script, commands that can fail come before the
// first write to a lock key.
namespace tenure::redis::scripts
{

/** Draws the next fencing token from the counter KEYS[1], if each of the other KEYS has its owner. ARGV: the owners.
 *  Answers the token as text, or "" if a key has another owner, because a later holder may already have a lower token.
 */
[[nodiscard]] Script const& draw();

/** Takes the first free key of KEYS.
 *
 *  ARGV, in each claiming script: 1 owner, 2 ttl in ms, 3 survey ("1" or ""), 4 the counter of fencing tokens or "": no
 *  token is requested, 5 the line of waiters or "", 6 the name of this store in the line, 7 "1": to its front.
 *
 *  Answers {index from 0, token or ""}, and leaves the line; or {-1} if all are held; with a survey {-1, earliest
 *  expiry in ms or -1, number of foreign keys}: keys without ttl. Then it joins the line; if that fails, the server's
 *  error is the last element. */
[[nodiscard]] Script const& first_free();

/** As `first_free` for several owners, which get the first free keys in their order: the second owner is ARGV[8], and
 *  so on. Answers {token or "", an index for each granted key}. If there were too few keys, the answer of `first_free`
 *  for held keys follows. */
[[nodiscard]] Script const& first_free_each();

/** The claiming scripts for `delay_after_failover`. ARGV as above, then the marker's name and the server's run id.
 *  Answers {-2, ms until claims open} while claims are closed; claims of the same owner are found nevertheless. */
[[nodiscard]] Script const& first_free_after_failover();
[[nodiscard]] Script const& first_free_each_after_failover();
[[nodiscard]] Script const& own_or_first_free_after_failover();

/** Searches KEYS for the owner, extends its claim and draws a new token; takes no free key. Answers as `first_free`,
 *  or {-1}. */
[[nodiscard]] Script const& find_own();

/** Runs `find_own`, then `first_free` if it found nothing, in one step. */
[[nodiscard]] Script const& own_or_first_free();

/** Runs only the survey: {-1, earliest expiry in ms or -1, number of foreign keys}. A key that became free meanwhile
 *  expires in 0 ms. */
[[nodiscard]] Script const& survey();

/** Answers for KEYS[1] the result of EXISTS, or 2 if it has the owner ARGV[1]. */
[[nodiscard]] Script const& probe();

/** Extends each of KEYS that has its owner. ARGV: ttl in ms, then an owner for each key. Answers a string with one
 *  character per key: '1' for extended, '0' for another owner or none. */
[[nodiscard]] Script const& renew();

/** As `renew`, but first records the ttl in the marker, whose name is the last of ARGV. */
[[nodiscard]] Script const& renew_noting_ttl();

/** Describes the existing keys of KEYS. ARGV: empty, or if each key has a fence key, the text before and after the key
 *  in its name. Answers server time in microseconds, then for each: index from 0, value (its first 1024 bytes; false
 *  for another type), remaining ms or -1, token or false. */
[[nodiscard]] Script const& inspect();

/** Replaces the value ARGV[1] of KEYS[1] by ARGV[2] and keeps the ttl. Answers the remaining ms, -2 if the value is
 *  another, or -1 if the key has no ttl and was left alone. */
[[nodiscard]] Script const& evict();

/** Replaces the value ARGV[1] of KEYS[1] by ARGV[2], which then expires after ARGV[3] ms, or without ARGV[3] after the
 *  rest of its ttl. Answers "kept", also if the value is ARGV[2] already, or "not owner". */
[[nodiscard]] Script const& detach();

/** Makes ARGV[2] the last token of KEYS[1], if the key has the owner ARGV[1] and the last token is less. ARGV[3],
 *  ARGV[4]: the text before and after a key in its fence key's name. Answers "accepted", "not owner" or the last
 *  token. */
[[nodiscard]] Script const& accept_token();

// The scripts below free keys and notify the waiters. The names of a range are passed as a stem (`stem_of`):
// `<stem>:waiting` is the line of waiters, `<stem>:watched` exists while observers watch, and `<stem>:free` is the
// channel.
//
// For each freed key of a range the first name leaves the line. One message publishes these names, separated by a
// blank. If the line is empty and observers watch, the message is "1"; without observers there is no message. If this
// store's name is "", the line is not used, and "1" is always published.
//
// "Notes" at the end of a reply: "!" if publishing was refused, then "?" and the server's error if the line was.

/** Deletes each of KEYS that has its owner, then notifies the waiters.
 *
 *  ARGV: an owner for each key; then either nothing (no notification) or this store's name and a stem for each key, ""
 *  for no notification. For a quarantine, ARGV: owner, this store's name, stem or "", resting value, ms. Answers a
 *  character for each key, then notes: '0' another owner or none, '1' released, '2' released, and the name of another
 *  store left the line for it. */
[[nodiscard]] Script const& release();

/** As `release` with SPUBLISH: the channels must be in the hash slot of the keys. */
[[nodiscard]] Script const& release_in_shard();

/** Deletes all KEYS of one range that have the owner, then notifies the waiters. ARGV: owner, this store's name, stem
 *  or "", and for a quarantine the resting value and ms. Answers the number deleted as text, then notes. */
[[nodiscard]] Script const& withdraw();

/** As `withdraw` with SPUBLISH. */
[[nodiscard]] Script const& withdraw_in_shard();

/** Notifies the waiters of a range whose keys were freed in other hash slots. KEYS: the line. ARGV: this store's name,
 *  stem, number of freed keys. Answers '2' if the name of another store left the line, else '1', then notes. */
[[nodiscard]] Script const& tell_freed();

/** As `tell_freed` with SPUBLISH. */
[[nodiscard]] Script const& tell_freed_in_shard();

/** Appends a name to a line whose keys are in other hash slots. KEYS: the line. ARGV: the name, '1' if an earlier
 *  release had named it. Answers "joined", "there" if the line did not grow, or '?' and the server's error. */
[[nodiscard]] Script const& line_up();

} // namespace tenure::redis::scripts
