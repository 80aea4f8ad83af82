// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
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
    /// what a call begins with, before the number of keys: by its text, and by its name
    resp::EncodedArguments by_text;
    resp::EncodedArguments by_name;
    /// the same script for servers that check its text: each command has one key, KEYS[i], and nothing is published;
    /// null: the script is so already
    std::shared_ptr<Script const> plain;
};

/** A script that publishes to all subscribers, or in a cluster within the shard of the channel. */
struct PublishingScript {
    explicit PublishingScript(std::string const& source);

    /// with PUBLISH
    Script everywhere;
    /// with SPUBLISH: the channels must be in the hash slot of the keys
    Script in_shard;

    [[nodiscard]] Script const& for_channels(bool sharded) const noexcept { return sharded ? in_shard : everywhere; }
};

/** How the attempts of one call name their script. */
class ScriptAttempt
{
public:
    /** What the next attempt begins with. */
    [[nodiscard]] resp::EncodedArguments const& begin(Script const& script, CommandChannel& channel);

    /** True if nothing ran, and the call is to be sent again: the server does not know the name, or refuses the text.
     */
    [[nodiscard]] bool goes_on(CommandChannel& channel, Outcome const& outcome);

    [[nodiscard]] bool is_first() const noexcept { return !by_text_ && !plain_; }

private:
    bool by_text_ = false;
    /// the last attempt had the plain form
    bool plain_ = false;
};

/** One call of a script. The keys of a range are kept apart from the names before them, because they are encoded once
 *  and shared. */
struct ScriptCall {
    /// lives for ever: see scripts.hpp
    Script const* script = nullptr;
    /// the first keys: of the counter, the line and so on
    resp::EncodedArguments names;
    /// the other keys; may be null
    std::shared_ptr<resp::EncodedArguments const> keys;
    resp::EncodedArguments values;
    Deadline not_after{};
    /// the largest reply expected, where that is more than the connection's limit
    std::size_t reply_bytes = 0;
    /// the last value is the run id of the process that is to run the script
    bool with_run_id = false;
    /// another call follows in this turn: both leave in one write
    bool leaves_with_next = false;
    resp::Urgency urgency = resp::Urgency::first;
};

/** Makes the command of the next attempt. */
[[nodiscard]] resp::Command command_of(ScriptCall const& call, ScriptAttempt& attempt, CommandChannel& channel);

/** The server does not know the script by its name, or has no EVALSHA: nothing has run. */
[[nodiscard]] bool is_unknown_script(Outcome const& outcome);
[[nodiscard]] bool is_unknown_script(resp::Value const& reply);

/** Runs the script, with further attempts where the first one did not run. */
void run_script(std::shared_ptr<CommandChannel> const& channel, ScriptCall call, OutcomeHandler handler);

} // namespace tenure::redis

// The scripts, documented in docs/integrators/redis-protocol.md. Every key is passed in KEYS: the counter of fencing
// tokens, the line of waiters and the marker first, as far as the call needs them, and the keys of leases behind them.
// In each script, commands that can fail come before the first write to a lock key.
namespace tenure::redis::scripts
{

/** Draws the next fencing token from the counter KEYS[1], if each of the other KEYS has its owner. ARGV: the owners.
 *  Answers the token as text, or "" if a key has another owner, because a later holder may already have a lower token.
 */
[[nodiscard]] Script const& draw();

/** Takes the first free key of a range.
 *
 *  KEYS, in each claiming script: the counter of fencing tokens, if one is requested; the line of waiters, if the store
 *  waits; then the range. ARGV: 1 owner, 2 ttl in ms, 3 survey ("1" or ""), 4 a token is requested ("1" or ""), 5 the
 *  name of this store in the line, or "": KEYS has no line, 6 "1": to its front.
 *
 *  Answers {index from 0, token or ""}, and leaves the line; or {-1} if all are held; with a survey {-1, earliest
 *  expiry in ms or -1, number of foreign keys}: keys without ttl. Then it joins the line; if that fails, the server's
 *  error is the last element. */
[[nodiscard]] Script const& first_free();

/** As `first_free` for several owners, which get the first free keys in their order: the second owner is ARGV[7], and
 *  so on. Answers {token or "", an index for each granted key}. If there were too few keys, the answer of `first_free`
 *  for held keys follows. */
[[nodiscard]] Script const& first_free_each();

/** The claiming scripts for `delay_after_failover`. KEYS as above, with the marker before the range; the last of ARGV
 * is the server's run id. Answers {-2, ms until claims open} while claims are closed; claims of the same owner are
 * found nevertheless. */
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

/** As `renew`, but first records the ttl in the marker KEYS[1]. */
[[nodiscard]] Script const& renew_noting_ttl();

/** Describes the existing keys of KEYS. ARGV: empty; or "1": the second half of KEYS are the fence keys of the first
 *  half. Answers server time in microseconds, then for each: index from 0, value (its first 1024 bytes; a list for a
 * key that is held in places: see `read_places`; false for another type), remaining ms or -1, token or false. */
[[nodiscard]] Script const& inspect();

/** Replaces the value ARGV[1] of KEYS[1] by ARGV[2] and keeps the ttl. Answers the remaining ms, -2 if the value is
 *  another, or -1 if the key has no ttl and was left alone. */
[[nodiscard]] Script const& evict();

/** Replaces the value ARGV[1] of KEYS[1] by ARGV[2], which then expires after ARGV[3] ms, or without ARGV[3] after the
 *  rest of its ttl. Answers "kept", also if the value is ARGV[2] already, or "not owner". */
[[nodiscard]] Script const& detach();

/** Makes ARGV[2] the last token of the key KEYS[2] in its fence key KEYS[1], if the key has the owner ARGV[1] and the
 *  last token is less. Answers "accepted", "not owner" or the last token. */
[[nodiscard]] Script const& accept_token();

// The scripts below free keys and notify the waiters. KEYS then has two names of each range before its keys: the line
// of waiters `<stem>:waiting`, and `<stem>:watched`, which exists while observers watch. The channel is `<stem>:free`
// (see `stem_of`).
//
// For each freed key of a range the first name leaves the line. One message publishes these names, separated by a
// blank. If the line is empty and observers watch, the message is "1"; without observers there is no message.
//
// The reply is a text, or a list of that text and of the message of each range ("": none). Notes follow the text, each
// on a line: "!" and the server's error, if publishing was refused, and "?" and the error, if the line was. If the
// argument `how` is "-", or publishing was refused, the messages are to be published by the caller.

/** Deletes a key that has the owner, then notifies the waiters.
 *
 *  KEYS: the line and the watched key, if waiters are to be notified, and the key. ARGV: the owner; then, where they
 *  are needed, `how`, and for a quarantine the resting value and ms. Answers '0' another owner or none, or '1'
 *  released. */
[[nodiscard]] PublishingScript const& release();

/** As `release` for several keys. KEYS: a line and a watched key for each range, and the keys, range after range; at
 *  last those without a message. ARGV: `how`, an owner for each key, and the number of keys of each
 *  range. Answers a character for each key. */
[[nodiscard]] PublishingScript const& release_each();

/** Deletes all keys of one range that have the owner, then notifies the waiters. KEYS: the line and the watched key,
 *  unless `how` is "", and the range. ARGV: owner, `how`, and for a quarantine the resting value and ms. Answers the
 *  number deleted. */
[[nodiscard]] PublishingScript const& withdraw();

/** Notifies the waiters of a range whose keys were freed in other hash slots. KEYS: the line and the watched key. ARGV:
 *  number of freed keys, `how`. Answers '1'. */
[[nodiscard]] PublishingScript const& notify_freed();

/** Appends a name to a line whose keys are in other hash slots. KEYS: the line. ARGV: the name, '1' if an earlier
 *  release had named it. Answers "joined", "there" if the line did not grow, or '?' and the server's error. */
[[nodiscard]] Script const& line_up();

} // namespace tenure::redis::scripts
