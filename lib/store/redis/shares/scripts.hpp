// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The scripts for keys that are held in places, documented in docs/integrators/redis-protocol.md.
#pragma once

#include "store/redis/scripts/scripts.hpp"
#include "store/redis/server_context.hpp"

namespace tenure::redis
{

/** A script without and with the marker of `delay_after_failover`. */
struct PlaceScript {
    Script plain;
    Script delayed;

    [[nodiscard]] Script const& for_server(ServerContext const& server) const
    {
        return server.delays_after_failover() ? delayed : plain;
    }
};

} // namespace tenure::redis

// KEYS are the counter of fencing tokens (of claims), the key that observers keep, `<stem>:watched` (if waiters are to
// be notified), the marker (if claims are delayed after a failover), and at last the key with the places. The argument
// `how` is '+' if the script publishes the message, '-' if the caller does, or '' if KEYS has no watched key. The last
// argument is the run id of the server, if KEYS has the marker.
//
// The last element of an answer is a note about the message: '' if nothing is left to do, '+' if the caller has to
// publish, or '!' and the server's error.
namespace tenure::redis::place_scripts
{

/** Takes a place at the end, or renews the owner's place. ARGV: 1 owner, 2 ttl in ms, 3 weight, 4 capacity, 5 name of
 * the store in messages, 6 "1": the place may wait, 7 `how`.
 *
 *  Answers {"held", number, note}; {"busy", number or "": no place, places ahead, ms until a place may lapse, note};
 *  {"closed", number or "", places ahead, ms until claims open}; or {"other", remaining ms or -1}: the key is of
 * another kind. */
[[nodiscard]] PlaceScript const& claim();

/** As `scripts::renew`, for places that hold. */
[[nodiscard]] PlaceScript const& renew();

/** Removes places. KEYS: the marker first, then for each place its watched key, unless `how` is '', and its key. ARGV:
 *  `how`, and the owners. Answers a text with a character for each: '1', or '0' if the owner has no place; or a list of
 *  that text and a note for each. */
[[nodiscard]] PlaceScript const& leave();

/** Replaces the owner of a place that holds, so that its holder loses it while it stays. ARGV: 1 `how`, 2 owner, 3 the
 *  new owner, 4 "evict": the number is appended to the new owner, and a place that waits is removed instead; or the ms
 *  that the place shall live from now, "" for the rest of its ttl. Answers {remaining ms, note}, also if the place has
 *  the new owner already; or {-2, note} if the owner has no such place. */
[[nodiscard]] PlaceScript const& replace();

} // namespace tenure::redis::place_scripts
