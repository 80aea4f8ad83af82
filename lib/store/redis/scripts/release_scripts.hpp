// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "script.hpp"

// The scripts that free keys and tell those who wait for them; docs/redis-protocol.md pins their meaning. The rules of
// scripts.hpp hold. The names beside a range come as a stem (`stem_of`): `<stem>:waiting` is the line of waiters,
// `<stem>:watched` says that observers watch, and `<stem>:free` is the channel.
//
// For each freed key of a range the first name leaves the line. The names go out in one message, separated by a blank.
// Where no name is there and observers watch, the message is "1"; where nobody does either, there is no message. Where
// this store's name is given as "" the line is not asked, and "1" is published each time.
//
// "Notes" at the end of a reply: "!" if publishing was refused, then "?" and the server's words if the line was.
namespace tenure::redis::scripts
{

/** Deletes each of KEYS that bears its owner, and then tells the waiters.
 *
 *  ARGV: an owner for each key; then either nothing (nobody is told) or this store's name and a stem for each key, ""
 * for none. Where one key is to rest, ARGV: owner, this store's name, stem or "", resting value, ms. Answers a
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
