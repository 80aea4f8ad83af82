// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>

namespace tenure
{

/** How a Redis store keeps named keys: those of `Lock` and of what is built on it. Pools, fair locks, read-write locks
 *  and semaphores have one layout only. All programs that share a key must agree. */
enum class LockLayout : std::uint8_t {
    /// a string, as docs/integrators/redis-protocol.md describes it
    tenure,
    /// a hash, as Redisson's RLock and RFencedLock keep it: their clients and this one exclude each other, and wait for
    /// each other. Fencing tokens are those of RFencedLock, which begin anew if their counter is lost. Waiters come in
    /// no order. RFairLock, RReadWriteLock and `delay_after_failover` have no part in it
    redisson
};

} // namespace tenure
