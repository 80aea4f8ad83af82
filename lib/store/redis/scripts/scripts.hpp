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

// The scripts, whose meaning docs/integrators/redis-protocol.md pins. All names of lock keys come through KEYS, all
// values through ARGV. The names of other keys (the counter of fencing tokens, the line of waiters, the marker) come
// through ARGV, because the keys of a range are encoded once for all. In each script whatever can fail comes before the
// first write to a lock key.
namespace tenure::redis::scripts
{

/** Draws the next fencing token from the counter KEYS[1], if each of the other KEYS bears its owner. ARGV: the owners.
 * Answers the token as text, or "" if one does not: a later holder of that key may have a lower token by then. */
[[nodiscard]] Script const& draw();

/** Takes the first free key of KEYS.
 *
 *  ARGV, in each claiming script:
 *  1 owner, 2 ttl in ms, 3 survey ("1" or ""), 4 the counter of fencing tokens or "": no token is asked for,
 *  5 the line of waiters or "", 6 the name under which this store stands there, 7 "1": to its front.
 *
 *  Answers {index from 0, token or ""}, and leaves the line; or {-1} where all are held; with a survey {-1, earliest
 * expiry in ms or -1, number of foreign keys}: keys without ttl. Then it joins the line; if that fails, the server's
 * words are the last element. */
[[nodiscard]] Script const& first_free();

/** The same for several owners, which get the first free keys in their order: the second owner is ARGV[8], and so on.
 *  Answers {token or "", an index for each that got a key}, and where not all did, behind it what `first_free` answers
 * where all are held. */
[[nodiscard]] Script const& first_free_each();

/** The claiming scripts where claims are closed for a while after a failover. ARGV as there, and then the marker's name
 * and the server's run id. Answers {-2, ms until claims open} while they are closed; own claims are found all the same.
 */
[[nodiscard]] Script const& first_free_after_failover();
[[nodiscard]] Script const& first_free_each_after_failover();
[[nodiscard]] Script const& own_or_first_free_after_failover();

/** Looks for the owner among KEYS, extends its claim and draws a new token; takes nothing. Answers as `first_free`
 * does, or {-1}. */
[[nodiscard]] Script const& find_own();

/** `find_own`, and where it finds nothing `first_free`, in one step. */
[[nodiscard]] Script const& own_or_first_free();

/** The survey alone: {-1, earliest expiry in ms or -1, number of foreign keys}. A key that has freed meanwhile expires
 * in 0 ms. */
[[nodiscard]] Script const& survey();

/** Tells of KEYS[1] what EXISTS does, or 2 if it bears the owner ARGV[1]. */
[[nodiscard]] Script const& look();

/** Extends each of KEYS that bears its owner. ARGV: ttl in ms, then an owner for each key. Answers a string with '1'
 * for extended and '0' for not the owner's, a character for each key. */
[[nodiscard]] Script const& renew();

/** The same, noting the ttl in the marker, whose name is the last of ARGV, before it extends anything. */
[[nodiscard]] Script const& renew_noting_ttl();

/** Describes those of KEYS that exist. ARGV: nothing, or where each key has a fence key, what surrounds the key in its
 * name. Answers server time in microseconds, then for each: index from 0, value (its first 1024 bytes; false for
 * another type), remaining ms or -1, token or false. */
[[nodiscard]] Script const& inspect();

/** Replaces the value of KEYS[1] if it is ARGV[1] by ARGV[2] and keeps the ttl. Answers the remaining ms, -2 if the
 * value is another, -1 without doing anything if the key has no ttl. */
[[nodiscard]] Script const& evict();

/** Replaces the value of KEYS[1] if it is ARGV[1] by ARGV[2], which then expires after ARGV[3] ms, or, without that,
 * after what is left of its ttl. Answers "kept", also if the value is ARGV[2] already, or "not owner". */
[[nodiscard]] Script const& detach();

/** Makes the token ARGV[2] the last one of KEYS[1], if the key bears the owner ARGV[1] and the last one is less.
 * ARGV[3], ARGV[4]: what surrounds a key in its fence key's name. Answers "accepted", "not owner" or the last token. */
[[nodiscard]] Script const& accept_token();

// The scripts from here on free keys and tell the waiters. The names beside a range come as a stem (`stem_of`):
// `<stem>:waiting` is the line of waiters, `<stem>:watched` says that observers watch, and `<stem>:free` is the
// channel.
//
// For each freed key of a range the first name leaves the line. The names go out in one message, separated by a blank.
// Where no name is there and observers watch, the message is "1"; without observers there is no message. Where
// this store's name is given as "" the line is not asked, and "1" is published each time.
//
// "Notes" at the end of a reply: "!" if publishing was refused, then "?" and the server's words if the line was.

/** Deletes each of KEYS that bears its owner, and then tells the waiters.
 *
 *  ARGV: an owner for each key; then either nothing (no waiter is notified) or this store's name and a stem for each
 * key, "" for none. Where one key is to rest, ARGV: owner, this store's name, stem or "", resting value, ms. Answers a
 * character for each key, then notes: '0' the key does not bear the owner, '1' released, '2' released, and the name of
 * another store left the line for it. */
[[nodiscard]] Script const& release();

/** The same with SPUBLISH: the channels must be in the hash slot of the keys. */
[[nodiscard]] Script const& release_in_shard();

/** Deletes whichever of KEYS, all of one range, bear the owner, and then tells the waiters. ARGV: owner, this store's
 * name, stem or "", and where they are to rest, the resting value and ms. Answers the number deleted as text, then
 * notes. */
[[nodiscard]] Script const& withdraw();

/** The same with SPUBLISH. */
[[nodiscard]] Script const& withdraw_in_shard();

/** Tells the waiters of a range whose keys were freed in other hash slots. KEYS: the line. ARGV: this store's name,
 * stem, number of freed keys. Answers '2' if the name of another store left the line, else '1', then notes. */
[[nodiscard]] Script const& tell_freed();

/** The same with SPUBLISH. */
[[nodiscard]] Script const& tell_freed_in_shard();

/** Appends a name to a line whose keys are in other hash slots. KEYS: the line. ARGV: the name, '1' if a release had
 * named it before. Answers "joined", "there" if the line did not grow by it, or '?' and the server's words. */
[[nodiscard]] Script const& line_up();

} // namespace tenure::redis::scripts
