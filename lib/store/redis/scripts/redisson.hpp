// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Scripts for keys in the layout of Redisson's RLock and RFencedLock: a hash at the key with one field, whose name is
// the owner and whose value counts re-entrances (here always 1). Their replies are those of the scripts for strings,
// and so are their arguments, unless a comment names them.
#pragma once

#include "scripts.hpp"

namespace tenure::redis::redisson
{

/** As `scripts::own_or_first_free` for a single key: KEYS without a line, and with the counter of RFencedLock. */
[[nodiscard]] Script const& claim();

[[nodiscard]] Script const& renew();

/** Deletes the key if it has the owner, and tells the waiters of all clients.
 *
 *  KEYS: the key. ARGV: the owner, the channel ("-": the caller publishes, "": no message), and for a quarantine
 * the resting value and ms. Answers as `scripts::release`, with "0" as the message. */
[[nodiscard]] PublishingScript const& leave();

[[nodiscard]] Script const& detach();
[[nodiscard]] Script const& evict();

/** Describes a key: KEYS: the counter of RFencedLock, the key. */
[[nodiscard]] Script const& inspect();

} // namespace tenure::redis::redisson
